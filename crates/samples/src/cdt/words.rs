//! What an invented web shop calls its methods, statements and parameters.

use std::fmt::Write as _;

use crate::random::{Random, mix};

/// A parameter: name, index, list, order, signature.
pub(super) type ParamRow = (&'static str, bool, bool, u32, &'static str);

/// Names that come first in the dictionary; their ids are their places.
pub(super) const TAGS: [&str; 32] = [
    "call.info",
    "call.red",
    "call.idle",
    "exception",
    "sql",
    "binds",
    "web.url",
    "web.method",
    "web.remote.addr",
    "web.query",
    "profiler.title",
    "common.started",
    "node.name",
    "java.thread",
    "log.generated",
    "log.written",
    "time.cpu",
    "time.wait",
    "memory.allocated",
    "io.disk.read",
    "io.disk.written",
    "io.net.read",
    "io.net.written",
    "j2ee.transactions",
    "time.queue.wait",
    "order.id",
    "user.id",
    "job.name",
    "cache.key",
    "rabbitmq.queue",
    "x-request-id",
    "object.ids",
];

/// Returns the dictionary id of a tag.
pub(super) const fn tag(name: &str) -> u32 {
    let mut at = 0;
    let mut rest: &[&str] = &TAGS;
    while let [first, tail @ ..] = rest {
        if same(first.as_bytes(), name.as_bytes()) {
            return at;
        }
        at += 1;
        rest = tail;
    }
    panic!("no such tag")
}

const fn same(mut a: &[u8], mut b: &[u8]) -> bool {
    loop {
        match (a, b) {
            ([], []) => return true,
            ([x, p @ ..], [y, q @ ..]) if *x == *y => (a, b) = (p, q),
            _ => return false,
        }
    }
}

/// The params stream.
pub(super) const PARAMS: [ParamRow; 14] = [
    ("exception", false, true, 100, ""),
    ("sql", false, true, 100, "sql"),
    ("binds", false, true, 100, "sql"),
    ("web.url", true, false, 1000, ""),
    ("web.method", true, false, 1000, ""),
    ("web.remote.addr", true, false, 1000, ""),
    ("web.query", false, false, 1000, ""),
    ("profiler.title", true, false, 50, ""),
    ("order.id", true, true, 500, ""),
    ("user.id", true, false, 700, ""),
    ("job.name", true, false, 1000, ""),
    ("x-request-id", true, false, 1000, ""),
    ("cache.key", false, true, 800, ""),
    ("object.ids", false, true, 100, ""),
];

const MODULES: [&str; 12] = [
    "cart",
    "catalog",
    "checkout",
    "customer",
    "delivery",
    "invoice",
    "loyalty",
    "payment",
    "price",
    "search",
    "stock",
    "warehouse",
];
const ENTITIES: [&str; 20] = [
    "Order", "Item", "Basket", "Customer", "Address", "Parcel", "Invoice", "Voucher", "Payment",
    "Price", "Product", "Category", "Stock", "Shelf", "Supplier", "Return", "Review", "Session",
    "Tax", "Discount",
];
const VERBS: [&str; 20] = [
    "find", "load", "save", "update", "compute", "validate", "merge", "render", "resolve", "apply",
    "fetch", "convert", "lock", "publish", "index", "check", "sort", "filter", "map", "close",
];
const RETURNS: [&str; 6] = [
    "void",
    "boolean",
    "int",
    "java.lang.String",
    "java.util.List",
    "",
];
const ARGUMENTS: [&str; 6] = [
    "",
    "long",
    "java.lang.String",
    "java.util.List,boolean",
    "java.lang.String,java.util.Map,int",
    "java.util.UUID,java.time.Instant",
];

/// Layers of the service, outermost first: package, ending of class names, jar.
pub(super) const LAYERS: [(&str, &str, &str); 6] = [
    ("web", "Filter", "shop-web-4.2.1.jar"),
    ("rest", "Controller", "shop-rest-4.2.1.jar"),
    ("service", "Service", "shop-core-4.2.1.jar"),
    ("domain", "Policy", "shop-core-4.2.1.jar"),
    ("store", "Repository", "shop-store-4.2.1.jar"),
    ("jdbc", "Statement", "BOOT-INF/lib/driver-42.7.3.jar"),
];

/// Methods of each layer.
pub(super) const METHODS: u32 = 180;

fn choose<'a>(words: &[&'a str], bits: u64) -> &'a str {
    let at = usize::try_from(bits % words.len() as u64).unwrap_or(0);
    words.get(at).copied().unwrap_or("")
}

/// Writes the name of method `number` of a layer as the agent does.
pub(super) fn method(layer: usize, number: u32, out: &mut String) {
    let bits = mix(u64::from(number) << 8 | layer as u64);
    let &(package, ending, jar) = LAYERS.get(layer).unwrap_or(&("util", "Kit", "util.jar"));
    let module = choose(&MODULES, bits);
    let entity = choose(&ENTITIES, bits >> 8);
    let verb = choose(&VERBS, bits >> 16);
    let subject = choose(&ENTITIES, bits >> 24);
    let arguments = choose(&ARGUMENTS, bits >> 32);
    let line = bits >> 40 & 0x1ff | 1;
    let class = format!("com.acme.shop.{module}.{package}.{entity}{ending}");
    let returned = match choose(&RETURNS, bits >> 52) {
        "" => format!("com.acme.shop.{module}.{entity}"),
        word => word.to_owned(),
    };
    out.clear();
    // The number keeps equal names apart.
    let name = format!(
        "{verb}{subject}{}",
        if number.is_multiple_of(7) { "" } else { "Of" }
    );
    let _ = write!(
        out,
        "{returned} {class}.{name}{number}({arguments}) ({entity}{ending}.java:{line}) [{jar}]"
    );
}

/// Writes statement `number`.
pub(super) fn statement(number: u32, out: &mut String) {
    let bits = mix(u64::from(number) ^ 0x5351_4c00);
    let table = choose(&ENTITIES, bits).to_lowercase();
    let other = choose(&ENTITIES, bits >> 8).to_lowercase();
    let column = choose(&VERBS, bits >> 16);
    out.clear();
    let _ = match bits >> 60 {
        0..=9 => write!(
            out,
            "select t.id, t.version, t.{column}_at, o.name from {table} t join {other} o on \
             o.id = t.{other}_id where t.tenant_id = ? and t.{column}_state in (?, ?, ?) and \
             o.region_{number} = ? order by t.{column}_at desc limit ?"
        ),
        10..=12 => write!(
            out,
            "insert into {table} (id, {other}_id, {column}_at, payload_{number}) values (?, ?, ?, ?)"
        ),
        13 | 14 => write!(
            out,
            "update {table} set version = version + 1, {column}_at = ? where id = ? and \
             version = ? and shard_{number} = ?"
        ),
        _ => write!(out, "delete from {table}_{number}\nwhere {column}_at < ?"),
    };
}

/// Writes the values bound to a statement.
pub(super) fn binds(random: &mut Random, out: &mut String) {
    out.clear();
    for _ in 0..=random.below(4) {
        let (kind, number) = (random.below(3), random.bits());
        let _ = match kind {
            0 => writeln!(out, "INT: tenant_id: {}", number % 100),
            1 => writeln!(out, "TEXT: key: {number:016x}"),
            _ => writeln!(
                out,
                "TIMESTAMP: changed: 2026-03-{:02}T10:00:00Z",
                number % 28 + 1
            ),
        };
    }
}

/// Writes the path of a web request.
pub(super) fn path(random: &mut Random, out: &mut String) {
    out.clear();
    let module = random.pick(&MODULES);
    let entity = random.pick(&ENTITIES);
    let number = random.skewed(100_000);
    let _ = write!(out, "/api/{module}/{}/{number}", entity.to_lowercase());
}

/// Writes the text of a failure.
pub(super) fn failure(random: &mut Random, out: &mut String) {
    let entity = random.pick(&ENTITIES);
    let number = random.below(1_000_000);
    out.clear();
    let _ = writeln!(
        out,
        "com.acme.shop.{entity}NotFoundException: no {} {number}",
        entity.to_lowercase()
    );
    let mut name = String::new();
    for layer in (1..5).rev() {
        method(layer, random.below(METHODS), &mut name);
        let call = name.split(' ').nth(1).unwrap_or("");
        let call = call.split('(').next().unwrap_or("");
        let _ = writeln!(out, "\tat {call}(Source.java:{})", random.below(400) + 1);
    }
}
