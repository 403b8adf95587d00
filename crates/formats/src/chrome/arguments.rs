//! The arguments of an event: attributes, and what reserved names say of a span.

use traceloom_model::bounds::subslice;
use traceloom_model::{Attribute, AttributeKey, ElementType, StringId, Tables, Value as Held};

use crate::spans::reserved_args::{self, ReservedArg};
use crate::spans::slices::Annotated;
use crate::text::json::{Kind, Token, Value};

/// Values inside values that are read; deeper ones read as nothing.
const DEEPEST: usize = 64;

/// Returns true if any of the arguments may have a reserved name.
pub(super) fn may_be_reserved(args: &[u8]) -> bool {
    let mut marks = memchr::memchr2_iter(b'.', b'\\', args);
    marks.any(|at| args.get(at) == Some(&b'\\') || subslice(args, ..at).ends_with(b"\"span"))
}

/// Reads the arguments of an event.
pub(super) fn annotated(args: Option<Value<'_>>, tables: &mut Tables) -> Annotated {
    let mut annotated = Annotated::default();
    for member in args.into_iter().flat_map(Value::items) {
        let Some(key) = member.key() else { continue };
        if let Some(mark) = reserved_args::find(&key) {
            if mark == ReservedArg::Exception && member.kind() == Kind::Object {
                let class = text(
                    member
                        .get("class")
                        .filter(|class| class.kind() == Kind::String)
                        .map(Value::token),
                    tables,
                );
                let message = text(member.get("message").map(Value::token), tables);
                annotated.marks.except(class, message, tables);
                continue;
            }
            let text = member
                .bytes()
                .or_else(|| Some(member.number()?.as_bytes().into()));
            if annotated.marks.set(mark, &text.unwrap_or_default()) {
                continue;
            }
        }
        let name = tables.bytes(&key);
        let key = tables.attribute_key(AttributeKey::named(name));
        let value = held(member, tables, 0);
        annotated.attributes.push(Attribute::new(key, value));
    }
    annotated
}

/// Interns a word, of none nothing.
pub(super) fn text(value: Option<Token<'_>>, tables: &mut Tables) -> Option<StringId> {
    let text = value.map(Token::word)?;
    Some(tables.bytes(&text))
}

fn held(value: Value<'_>, tables: &mut Tables, depth: usize) -> Held {
    match value.kind() {
        Kind::Null => Held::Null,
        Kind::True => Held::Bool(true),
        Kind::False => Held::Bool(false),
        Kind::Number => {
            let text = value.number().unwrap_or("0");
            if let Ok(signed) = text.parse() {
                return Held::I64(signed);
            }
            match text.parse() {
                Ok(unsigned) => Held::U64(unsigned),
                Err(_) => Held::F64(text.parse().unwrap_or(0.0)),
            }
        }
        Kind::String => Held::Text(tables.value(&value.bytes().unwrap_or_default())),
        Kind::Array | Kind::Object if depth > DEEPEST => Held::Null,
        Kind::Array => {
            let list: Vec<Held> = value
                .items()
                .map(|one| held(one, tables, depth + 1))
                .collect();
            Held::List(ElementType::common(&list), list.into())
        }
        Kind::Object => {
            let mut map = Vec::new();
            for member in value.items() {
                let key = member.key().unwrap_or_default();
                let key = Held::Text(tables.bytes(&key));
                map.push((key, held(member, tables, depth + 1)));
            }
            Held::Map(map.into())
        }
    }
}
