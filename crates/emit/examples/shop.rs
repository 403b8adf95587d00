//! Writes the calls of a small shop: `shop cdt FOLDER`, `shop cdt-tcp ADDRESS`, `shop chrome FILE`, `shop perfetto FILE`, `shop tptp FILE.trcbin` or
//! `shop tptp FILE.trcxml`.

use std::error::Error;

use traceloom_emit::{Options, Recorder, cdt, chrome, perfetto, tptp};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::default();
    let recorder = match arguments.as_slice() {
        [format, path] if format == "cdt" => Recorder::start(
            cdt::DumpFolder::create(path, "shop")?.indexed(&["user"]),
            options,
        )?,
        [format, address] if format == "cdt-tcp" => {
            let collector = cdt::CollectorLink::connect(address, "shop", "backend", "backend-1")?;
            Recorder::start(collector, options)?
        }
        [format, path] if format == "chrome" => {
            Recorder::start(chrome::ChromeFile::create(path)?, options)?
        }
        [format, path] if format == "perfetto" => {
            Recorder::start(perfetto::PerfettoFile::create(path)?, options)?
        }
        [format, path] if format == "tptp" => {
            let form = match path.ends_with(".trcbin") {
                true => tptp::TraceForm::Binary,
                false => tptp::TraceForm::Xml,
            };
            Recorder::start(tptp::TptpFile::create(path, "shop", form)?, options)?
        }
        _ => return Err("shop cdt|cdt-tcp|chrome|perfetto|tptp PATH".into()),
    };
    std::thread::scope(|scope| {
        for name in ["main", "worker"] {
            let thread = recorder.thread(name);
            scope.spawn(move || {
                for n in 0..3_u64 {
                    let mut request = thread.call("void shop.Orders.list() (orders.rs:12) [shop]");
                    request.set("user", "ana");
                    request.set("rows", n);
                    let mut query = thread.call("void shop.Db.query() (db.rs:7) [shop]");
                    query.set("sql", "SELECT 1");
                    std::thread::sleep(std::time::Duration::from_millis(2 * n));
                }
            });
        }
    });
    let report = recorder.close();
    println!("{report:?}");
    Ok(())
}
