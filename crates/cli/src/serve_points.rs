//! Points of Datakit's profiles: the tags of its input, and where points are sent on to.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use traceloom_server::{ForwardOptions, PostOptions, TlsClient};

use crate::push::HttpAddress;
use crate::usage::Usage;

/// Time for which a request is tried.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is made of Datakit's profiles.
#[derive(Args)]
#[command(next_help_heading = "Datakit")]
pub(crate) struct PointFlags {
    /// Tag of every profile that Datakit's agents post, in place of what they say; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = tag)]
    datakit_tag: Vec<String>,
    /// Post the points of these profiles to a database that takes line protocol, such as
    /// `http://127.0.0.1:8086/write?db=profiles`. What it does not take for five minutes, or what comes while 10,000 profiles wait, is
    /// counted in /metrics and given up; `export --points` derives it again.
    #[arg(long, value_name = "URL")]
    forward_points: Option<String>,
    /// File with what the database wants as Authorization, such as `Token abc`.
    #[arg(long, value_name = "FILE", requires = "forward_points")]
    forward_authorization: Option<PathBuf>,
    /// PEM file of the CA that signed the certificate of a database at `https://`.
    #[arg(long, value_name = "FILE", requires = "forward_points")]
    forward_ca: Option<PathBuf>,
}

/// Reads a tag.
fn tag(text: &str) -> Result<String, String> {
    let is_plain = |text: &str, not: &[char]| {
        let fits = |character: char| !character.is_control() && !not.contains(&character);
        !text.is_empty() && text.trim() == text && text.chars().all(fits)
    };
    match text.split_once('=') {
        Some((key, value)) if is_plain(key, &[':', ',']) && is_plain(value, &[',']) => {
            Ok(text.to_owned())
        }
        _ => Err("a tag is KEY=VALUE without commas, and without colons in its key".to_owned()),
    }
}

impl PointFlags {
    /// Returns the tags as a request has them.
    pub(crate) fn input_tags(&self) -> String {
        let tags = self.datakit_tag.iter();
        let tags: Vec<_> = tags.map(|tag| tag.replacen('=', ":", 1)).collect();
        tags.join(",")
    }

    pub(crate) fn tags(&self) -> Vec<String> {
        self.datakit_tag.clone()
    }

    pub(crate) fn url(&self) -> Option<&str> {
        self.forward_points.as_deref()
    }

    pub(crate) fn authorization(&self) -> &Option<PathBuf> {
        &self.forward_authorization
    }

    pub(crate) fn ca(&self) -> &Option<PathBuf> {
        &self.forward_ca
    }

    /// Returns where points are sent on to.
    pub(crate) fn forward(&self) -> anyhow::Result<Option<ForwardOptions>> {
        let Some(url) = self.url() else {
            return Ok(None);
        };
        let (base, path) = parts(url).ok_or_else(|| {
            let example = "http://127.0.0.1:8086/write?db=profiles";
            Usage(format!(
                "--forward-points: `{url}` is no address such as {example}"
            ))
        })?;
        let address = HttpAddress::read(&base).map_err(Usage)?;
        let tls = match (address.tls, &self.forward_ca) {
            (false, None) => None,
            (true, Some(ca)) => Some(TlsClient::new(&address.name, ca, None)?),
            _ => {
                let text =
                    "--forward-ca goes with an address of https://, and that with --forward-ca";
                return Err(Usage(text.to_owned()).into());
            }
        };
        let authorization = self.forward_authorization.as_ref();
        let authorization = authorization.map(|file| {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
            anyhow::Ok(text.trim().to_owned())
        });
        Ok(Some(ForwardOptions {
            to: PostOptions {
                to: address.address,
                host: address.host,
                tls,
                authorization: authorization.transpose()?,
                patience: PATIENCE,
            },
            path,
        }))
    }
}

/// Cuts a URL into scheme with host and port, and path with query.
fn parts(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let at = rest.find('/')?;
    let (host, path) = rest.split_at_checked(at)?;
    let named = host.rsplit_once(':');
    let host = match named.is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        true => host.to_owned(),
        false => format!("{host}:{port}"),
    };
    Some((format!("{scheme}://{host}"), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_databases_have_a_path() {
        let cut = |url| parts(url).map(|(base, path)| format!("{base} {path}"));
        let at = |text: &str| Some(text.to_owned());
        assert_eq!(
            cut("http://db:8086/write?db=a"),
            at("http://db:8086 /write?db=a")
        );
        assert_eq!(cut("https://db/w"), at("https://db:443 /w"));
        assert_eq!(cut("http://db:8086"), None);
        assert_eq!(cut("db/write"), None);
    }

    #[test]
    fn a_tag_fits_into_a_header_and_into_tags() {
        assert!(tag("env=prod:a").is_ok());
        for wrong in ["env", "=x", "env=", "a:b=c", "a=b,c", "a=b\r\nc", "a= b"] {
            assert!(tag(wrong).is_err(), "{wrong:?}");
        }
    }
}
