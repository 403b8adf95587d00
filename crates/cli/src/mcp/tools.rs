//! The tools: what each takes, and the command of this program that answers.

use serde_json::{Map, Value, json};

use super::folder::Folder;

/// Rows of an answer unless a call asks for others, and at most.
const ROWS: [u64; 2] = [30, 200];
/// Spans of a call's tree, likewise.
const SPANS: [u64; 2] = [200, 2_000];

/// A tool.
pub(super) struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The command of this program, with what it always has.
    command: &'static [&'static str],
    parameters: &'static [Parameter],
}

/// A parameter of a tool.
struct Parameter {
    name: &'static str,
    description: &'static str,
    kind: ParameterKind,
    required: bool,
}

/// What a parameter is, and where it goes on the command line.
#[derive(Clone, Copy)]
enum ParameterKind {
    /// A path within the folder, an argument of its own.
    Path,
    /// Text that is an argument of its own.
    Argument,
    /// Text behind a flag.
    Text(&'static str),
    /// A number behind a flag: the usual one, and the largest.
    Number(&'static str, [u64; 2]),
}

const fn path(name: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        description,
        kind: ParameterKind::Path,
        required: true,
    }
}

const fn text(name: &'static str, flag: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        description,
        kind: ParameterKind::Text(flag),
        required: false,
    }
}

const fn number(
    name: &'static str,
    flag: &'static str,
    range: [u64; 2],
    description: &'static str,
) -> Parameter {
    Parameter {
        name,
        description,
        kind: ParameterKind::Number(flag, range),
        required: false,
    }
}

const A_PATH: Parameter = path(
    "path",
    "A file, a folder or an archive, relative to the server's folder.",
);
const A_FILTER: Parameter = text(
    "filter",
    "--filter",
    "Which calls count: words of method, title or parameter values, `+` before what must be there, `-` before what must \
     not, `$param=value` for a parameter.",
);
const A_VALUE: Parameter = text(
    "value",
    "--value",
    "The value to show: `wall` of calls, or a sampled value by its name, such as cpu, alloc or lock. `info` lists them.",
);
const N_ROWS: Parameter = number(
    "rows",
    "--rows",
    ROWS,
    "Rows of the answer: 30 unless told otherwise, at most 200.",
);

/// Every tool.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "info",
        title: "What is in a recording",
        description: "Tells the format, kinds of records, time range, sampled values and damage of a file or folder. The \
            answer has at most 256 KiB.",
        command: &["info", "--json"],
        parameters: &[A_PATH],
    },
    Tool {
        name: "top",
        title: "Hot functions",
        description: "Lists functions by their own time or sampled value, the largest first, with total, share and number \
            of calls or samples. At most 200 rows and 256 KiB.",
        command: &["top", "--json"],
        parameters: &[A_PATH, A_VALUE, A_FILTER, N_ROWS],
    },
    Tool {
        name: "calls",
        title: "Calls",
        description: "Lists calls (requests, root spans) with start, duration, thread, title and parameters, and ends with \
            `next`, the place to go on at, or null. Sampled profiles have no calls. At most 200 rows and 256 KiB.",
        command: &["calls", "--json", "--page"],
        parameters: &[
            A_PATH,
            A_FILTER,
            text(
                "min_duration",
                "--min-duration",
                "Only calls that took at least so long, such as 10ms.",
            ),
            text(
                "sort",
                "--sort",
                "The column to sort by, with `-` before it for falling order, such as -duration. By start unless told otherwise.",
            ),
            text("after", "--after", "The place `next` of the answer before."),
            N_ROWS,
        ],
    },
    Tool {
        name: "call",
        title: "One call",
        description: "Prints one call as a tree of spans with times, parameters and exceptions. At most 2,000 spans and 256 \
            KiB; `left_out` counts the rest, which `below` and `depth` reach.",
        command: &["call", "--json"],
        parameters: &[
            A_PATH,
            Parameter {
                name: "id",
                description: "The id of the call as `calls` tells it, or a trace id in hex.",
                kind: ParameterKind::Argument,
                required: true,
            },
            number(
                "spans",
                "--spans",
                SPANS,
                "Spans of the answer: 200 unless told otherwise, at most 2,000.",
            ),
            number(
                "below",
                "--below",
                [0, u64::MAX],
                "Only the span of this `index` and those below it.",
            ),
            number(
                "depth",
                "--depth",
                [64, 4_096],
                "Levels below that span: 64 unless told otherwise.",
            ),
        ],
    },
    Tool {
        name: "diff",
        title: "Two recordings compared",
        description: "Compares functions of two recordings, the largest change of own value first. At most 200 rows and 256 KiB.",
        command: &["diff", "--json"],
        parameters: &[
            path(
                "before",
                "The recording to compare with, relative to the server's folder.",
            ),
            path(
                "after",
                "The recording that is compared, relative to the server's folder.",
            ),
            A_VALUE,
            N_ROWS,
        ],
    },
];

impl Tool {
    /// Describes it as `tools/list` does.
    pub(super) fn json(&self) -> Value {
        let parameters = self.parameters.iter();
        let properties: Map<String, Value> = parameters
            .map(|parameter| (parameter.name.to_owned(), parameter.json()))
            .collect();
        let required = self
            .parameters
            .iter()
            .filter(|parameter| parameter.required);
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required.map(|parameter| parameter.name).collect::<Vec<_>>(),
                "additionalProperties": false,
            },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    }
}

impl Parameter {
    fn json(&self) -> Value {
        let mut schema = match self.kind {
            ParameterKind::Number(_, [_, most]) => {
                let mut schema = json!({ "type": "integer", "minimum": 0 });
                if most < u64::MAX {
                    schema["maximum"] = most.into();
                }
                schema
            }
            _ => json!({ "type": "string" }),
        };
        schema["description"] = self.description.into();
        schema
    }
}

/// A tool with the arguments of a call, which are not checked yet.
pub(super) struct Call {
    tool: &'static Tool,
    arguments: Map<String, Value>,
}

impl Call {
    /// # Errors
    /// When there is no such tool: what is wrong with arguments is an answer of the tool.
    pub(super) fn of(params: &Value) -> Result<Self, String> {
        let name = params["name"].as_str().unwrap_or_default();
        let tool = TOOLS.iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| format!("there is no tool `{name}`"))?;
        let arguments = match params.get("arguments") {
            None => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(_) => return Err("`arguments` is an object".to_owned()),
        };
        Ok(Self { tool, arguments })
    }

    /// Returns the command line of this program that answers.
    ///
    /// # Errors
    /// What is wrong with the arguments.
    pub(super) fn command_line(&self, folder: &Folder) -> Result<Vec<String>, String> {
        let parameters = self.tool.parameters;
        let is_known = |name: &&String| parameters.iter().any(|known| known.name == **name);
        if let Some(name) = self.arguments.keys().find(|name| !is_known(name)) {
            return Err(format!("`{}` takes no `{name}`", self.tool.name));
        }
        let mut flags: Vec<String> = self.tool.command.iter().map(ToString::to_string).collect();
        // What is behind the two dashes is never taken for a flag.
        let mut behind = vec!["--".to_owned()];
        for parameter in parameters {
            let name = parameter.name;
            let value = self.arguments.get(name).filter(|value| !value.is_null());
            if value.is_none() && parameter.required {
                return Err(format!("`{name}` is missing"));
            }
            let as_text = || match value {
                None => Ok(None),
                Some(value) => value
                    .as_str()
                    .map(Some)
                    .ok_or(format!("`{name}` is a string")),
            };
            match parameter.kind {
                ParameterKind::Path => {
                    behind.extend(as_text()?.map(|path| folder.resolve(path)).transpose()?);
                }
                ParameterKind::Argument => behind.extend(as_text()?.map(str::to_owned)),
                ParameterKind::Text(flag) => {
                    flags.extend(as_text()?.map(|text| format!("{flag}={text}")));
                }
                ParameterKind::Number(flag, [usual, most]) => {
                    let number = match value {
                        None => usual,
                        Some(value) => value
                            .as_u64()
                            .filter(|&number| number <= most)
                            .ok_or(format!("`{name}` is a whole number up to {most}"))?,
                    };
                    flags.push(format!("{flag}={number}"));
                }
            }
        }
        flags.append(&mut behind);
        Ok(flags)
    }
}
