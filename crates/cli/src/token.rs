//! `token`: who may ask a collector over HTTP.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use traceloom_input::captures::{DEFAULT, DataFolder};
use traceloom_server::{Right, Tokens, is_tenant};

use crate::Outcome;
use crate::args::{Common, DataArgument, reads_nothing};
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::usage::Usage;

/// Make, list and revoke tokens of a collector's HTTP side.
///
/// Other machines need one. A running collector knows a new one, and forgets a revoked one, at once. Tokens are stored
/// as hashes.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom token add ci --right upload > ci.token\n  \
    traceloom token add gateway --right upload --tenant shop --tenant stock > gateway.token\n  \
    traceloom push app.jfr --token-file ci.token\n  \
    traceloom token revoke ci")]
pub(crate) struct Options {
    #[command(subcommand)]
    what: TokenTask,
    #[command(flatten)]
    _common: Common,
}

#[derive(Subcommand)]
enum TokenTask {
    /// Make a token and print it, which is the only time that it can be seen.
    Add(Add),
    /// List the tokens.
    Ls(ListTokens),
    /// Forget a token.
    Revoke(Revoke),
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct Add {
    /// Whom it is for.
    name: String,
    /// What it allows: read, upload or write; may be repeated.
    #[arg(long = "right", value_name = "RIGHT", required = true, value_parser = right)]
    rights: Vec<Right>,
    /// A tenant that it may send for; may be repeated. The first is meant where a request has no X-Scope-OrgID. Without, it sends for
    /// the tenant of its own name.
    #[arg(long = "tenant", value_name = "NAME", value_parser = tenant)]
    tenants: Vec<String>,
    /// Data folder of the collector; it is made where there is none.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct ListTokens {
    #[command(flatten)]
    data: DataArgument,
    /// Print a JSON object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct Revoke {
    /// Whose it is.
    name: String,
    /// Data folder of the collector.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
}

fn right(name: &str) -> Result<Right, String> {
    let known = || Right::ALL.map(Right::name).join(", ");
    Right::of(name).ok_or_else(|| format!("there is no right `{name}`; there are {}", known()))
}

fn tenant(name: &str) -> Result<String, String> {
    let known = "a tenant has 1 to 150 letters, digits and !-_.*'() of ASCII";
    is_tenant(name)
        .then(|| name.to_owned())
        .ok_or_else(|| known.to_owned())
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut out = stdout();
    match &options.what {
        TokenTask::Add(add) => {
            let tokens = Tokens::open(&DataFolder::create(&add.data)?)?;
            writeln!(out, "{}", tokens.add(&add.name, &add.rights, &add.tenants)?)?;
        }
        TokenTask::Ls(ls) => {
            let tokens = Tokens::open(&DataFolder::open(ls.data.path())?)?;
            let style = Style::new(&ls.common)?;
            let mut table = Table::new(&["name", "rights", "tenants", "created"]);
            for token in tokens.list() {
                let rights: Vec<_> = token.rights.iter().map(|right| right.name()).collect();
                if ls.json {
                    let row = json!({
                        "name": token.name,
                        "rights": rights,
                        "tenants": token.tenants,
                        "created_ns": token.created_ns,
                    });
                    writeln!(out, "{row}")?;
                }
                let created = style.when(true, token.created_ns);
                let tenants = token.tenants.join(", ");
                table.row([token.name, rights.join(", "), tenants, created]);
            }
            if !ls.json {
                table.print(&style, &mut out)?;
            }
        }
        TokenTask::Revoke(revoke) => {
            let tokens = Tokens::open(&DataFolder::open(&revoke.data)?)?;
            if !tokens.revoke(&revoke.name)? {
                let reason = format!(
                    "there is no token `{}`; `traceloom token ls` lists them",
                    revoke.name
                );
                return Err(Usage(reason).into());
            }
            message!("{} is revoked", revoke.name);
        }
    }
    Ok(Outcome::Done)
}
