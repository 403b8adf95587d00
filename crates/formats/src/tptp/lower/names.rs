//! Classes and methods by id, in the version that holds at the time (SPEC.md §5).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{Class, ClassId, Frame, FrameId, Function, FunctionId, Tables};

use crate::tptp::call::either;
use crate::tptp::message::Message;

/// JVM modifier bits for the four flags of a method.
const FLAGS: [(&str, u32); 4] = [
    ("isStatic", 0x0008),
    ("isSynchronized", 0x0020),
    ("isNative", 0x0100),
    ("isAbstract", 0x0400),
];

/// What ids of classes and methods mean now. A definition replaces the one before it: the id was
/// given out again.
#[derive(Debug, Default)]
pub(super) struct DefinitionIds {
    classes: HashMap<u64, (ClassId, String), RandomState>,
    methods: HashMap<u64, FunctionId, RandomState>,
    files: HashMap<u64, traceloom_model::StringId, RandomState>,
    /// Methods by a class that nothing has defined so far: its definition may come late.
    orphans: HashMap<u64, Vec<Orphan>, RandomState>,
}

#[derive(Debug)]
struct Orphan {
    method: u64,
    name: String,
    function: Function,
}

impl DefinitionIds {
    pub fn class(&mut self, tables: &mut Tables, message: &Message<'_>) {
        let id = either(
            message.number("classId"),
            message.number("transientClassId"),
        );
        let name = dotted(&message.text("name"));
        let optional = |attribute: &str, tables: &mut Tables| {
            let text = message.text(attribute);
            (!text.is_empty()).then(|| tables.string(&text))
        };
        let file = optional("sourceName", tables);
        let loader = optional("classLoader", tables);
        let superclass = message.text("superclass");
        let superclass =
            (!superclass.is_empty()).then(|| plain_class(tables, &dotted(&superclass)));
        let string = tables.string(&name);
        let class = tables.class(Class {
            name: string,
            superclass,
            loader,
            file,
        });
        self.classes.insert(id, (class, name));
        match file {
            Some(file) => self.files.insert(id, file),
            None => self.files.remove(&id),
        };
        for orphan in self.orphans.remove(&id).unwrap_or_default() {
            let placed = self.function_in(tables, id, &orphan.name);
            let function = Function {
                name: placed.name,
                class: placed.class,
                package: placed.package,
                file,
                ..orphan.function
            };
            let defined = tables.function(function);
            self.methods.insert(orphan.method, defined);
        }
    }

    pub fn method(&mut self, tables: &mut Tables, message: &Message<'_>) {
        let class = either(
            message.number("classIdRef"),
            message.number("transientClassIdRef"),
        );
        let name = message.text("name");
        let name = match name.as_ref() {
            "-init-" => "<init>",
            "-clinit-" => "<clinit>",
            other => other,
        };
        let signature = message.text("signature");
        let mut function = self.function_in(tables, class, name);
        function.file = self.files.get(&class).copied();
        function.line = u32::try_from(message.number("startLineNumber")).unwrap_or(0);
        function.signature = (!signature.is_empty()).then(|| tables.string(&signature));
        for (flag, bits) in FLAGS {
            if message.number(flag) != 0 {
                function.modifiers |= bits;
            }
        }
        let method = message.number("methodId");
        if class != 0 && !self.classes.contains_key(&class) {
            self.orphans.entry(class).or_default().push(Orphan {
                method,
                name: name.to_owned(),
                function: function.clone(),
            });
        }
        let function = tables.function(function);
        self.methods.insert(method, function);
    }

    /// Finds a class; one that nothing defines is called after its id. None for id 0.
    pub fn class_of(&self, tables: &mut Tables, id: u64) -> Option<ClassId> {
        match self.classes.get(&id) {
            Some(&(class, _)) => Some(class),
            None if id == 0 => None,
            None => Some(plain_class(tables, &placeholder(id))),
        }
    }

    /// Finds a method; one that nothing defines is called after its id, in its class if that is known.
    pub fn method_of(&self, tables: &mut Tables, method: u64, class: u64) -> FunctionId {
        if let Some(&function) = self.methods.get(&method) {
            return function;
        }
        let name = format!("method#{method}");
        let function = if self.classes.contains_key(&class) {
            self.function_in(tables, class, &name)
        } else {
            Function::named(tables.string(&name))
        };
        tables.function(function)
    }

    pub fn frame(tables: &mut Tables, function: FunctionId, line: u64) -> FrameId {
        tables.frame(Frame {
            function: Some(function),
            line: u32::try_from(line).unwrap_or(0),
            ..Frame::default()
        })
    }

    fn function_in(&self, tables: &mut Tables, class: u64, name: &str) -> Function {
        let Some((class, class_name)) = self.classes.get(&class) else {
            // Methods of one name in two such classes are two methods all the same.
            let known = self.class_of(tables, class);
            let name = if known.is_some() {
                tables.string(&format!("{}.{name}", placeholder(class)))
            } else {
                tables.string(name)
            };
            return Function {
                class: known,
                ..Function::named(name)
            };
        };
        let qualified = tables.string(&format!("{class_name}.{name}"));
        let package = class_name
            .rsplit_once('.')
            .map(|(package, _)| tables.string(package));
        Function {
            class: Some(*class),
            package,
            ..Function::named(qualified)
        }
    }

    /// A method as monitor stacks write it: `pkg/Foo.bar`, with or without a signature.
    pub fn spelled(tables: &mut Tables, spelled: &str) -> FunctionId {
        let open = spelled.find('(').unwrap_or(spelled.len());
        let (path, signature) = spelled.split_at(open);
        let name = dotted(path)
            .replace("-clinit-", "<clinit>")
            .replace("-init-", "<init>");
        let class = name
            .rsplit_once('.')
            .map(|(class, _)| plain_class(tables, class));
        let package = name
            .rsplit_once('.')
            .and_then(|(class, _)| class.rsplit_once('.'));
        let package = package.map(|(package, _)| tables.string(package));
        let name = tables.string(&name);
        let signature = (!signature.is_empty()).then(|| tables.string(signature));
        tables.function(Function {
            class,
            package,
            signature,
            ..Function::named(name)
        })
    }
}

fn placeholder(class: u64) -> String {
    format!("class#{class}")
}

fn plain_class(tables: &mut Tables, name: &str) -> ClassId {
    let name = tables.string(name);
    tables.class(Class {
        name,
        superclass: None,
        loader: None,
        file: None,
    })
}

/// Class names come with `/` and with `.`.
fn dotted(name: &str) -> String {
    name.replace('/', ".")
}
