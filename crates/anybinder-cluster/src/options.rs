//! The command line, and the files that it names.

use std::fmt::Display;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use binder::transport::rpc::TlsCredentials;
use binder_cluster::MachineAddress;
use binder_http::parse_metrics_address;
use clap::{Args, Parser, Subcommand};
use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};
use service_manager::{AccessPolicy, Balancing, Declarations, DialectChoice};

/// A service manager whose names are those of many machines. `anybinder servicemanager --cluster` starts it.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub(crate) struct ClusterCli {
    /// Log more: info, debug, trace. RUST_LOG, if set, decides instead
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Be the service manager of a device
    Serve(Box<ServeOptions>),
    /// Stand for a service of another machine; stdin says which machine's
    #[command(hide = true)]
    Import(ImportOptions),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ServeOptions {
    /// The device
    pub(crate) device: PathBuf,

    /// Where etcd is: members with commas between them, and a prefix of the keys, if there is to be one
    #[arg(long, value_name = "etcd[s]://HOST:PORT[,HOST:PORT ...][/PREFIX]")]
    pub(crate) cluster: StoreAddress,

    #[command(flatten)]
    pub(crate) store: StoreCredentialOptions,

    /// Where other machines find this one
    #[arg(long, value_name = "tls://HOST:PORT")]
    pub(crate) advertise: MachineAddress,

    /// Where it listens, if not at the host that it advertises
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,

    #[command(flatten)]
    pub(crate) credentials: CredentialOptions,

    #[command(flatten)]
    pub(crate) users: UserOptions,

    /// Serve figures over HTTP at /metrics, for Prometheus: at this port of the loopback interface, or at an address
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = parse_metrics_address)]
    pub(crate) metrics: Option<SocketAddr>,

    /// After how many seconds without a word from this machine others take its names
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(2..=3600))]
    pub(crate) lease: u64,

    /// Let every user, and every machine with a certificate, do everything
    #[arg(long, conflicts_with = "policy")]
    pub(crate) allow_all: bool,

    /// Who may do what
    #[arg(long, value_name = "FILE", required_unless_present = "allow_all")]
    pub(crate) policy: Option<PathBuf>,

    /// Which services there are said to be
    #[arg(long, value_name = "FILE")]
    pub(crate) declared: Option<PathBuf>,

    /// Which release of Android its callers are of
    #[arg(long, value_name = "RELEASE", default_value_t)]
    pub(crate) dialect: DialectChoice,
}

/// The certificate that this machine shows to etcd, and the issuers of etcd's.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreCredentialOptions {
    /// The certificates of issuers whose etcd is believed (PEM), for etcds://
    #[arg(long, value_name = "FILE")]
    pub(crate) etcd_ca: Option<PathBuf>,

    /// The certificate that etcd is shown (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["etcd_ca", "etcd_key"])]
    pub(crate) etcd_certificate: Option<PathBuf>,

    /// Its key (PEM)
    #[arg(long, value_name = "FILE", requires = "etcd_certificate")]
    pub(crate) etcd_key: Option<PathBuf>,

    /// The user of etcd
    #[arg(long, value_name = "NAME", requires = "etcd_password_file")]
    pub(crate) etcd_user: Option<String>,

    /// A file with the user's password in its first line
    #[arg(long, value_name = "FILE", requires = "etcd_user")]
    pub(crate) etcd_password_file: Option<PathBuf>,
}

/// The certificate that this machine shows to others, and the issuers that it believes.
#[derive(Debug, Clone, Args)]
pub(crate) struct CredentialOptions {
    /// The certificate of this machine, with those between it and its issuer (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: PathBuf,

    /// Its key (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// The certificates of issuers that are believed (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: PathBuf,

    /// Lists of certificates that are not believed any more (PEM), read again with the others on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub(crate) revoked: Option<PathBuf>,
}

/// Who the users of other machines are on this one.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct UserOptions {
    /// Which users of machines are the same person, signed in FILE.sig: calls of other machines are made as these, and
    /// all others as nobody
    #[arg(long, value_name = "FILE", requires = "users_key")]
    pub(crate) users: Option<PathBuf>,

    /// The public key of who signs that (PEM, Ed25519)
    #[arg(long, value_name = "FILE", requires = "users")]
    pub(crate) users_key: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ImportOptions {
    /// The device
    #[arg(long)]
    pub(crate) device: PathBuf,

    /// The service
    #[arg(long)]
    pub(crate) name: String,

    /// Which of its instances calls go to
    #[arg(long)]
    pub(crate) balancing: Option<Balancing>,

    #[command(flatten)]
    pub(crate) credentials: CredentialOptions,

    #[command(flatten)]
    pub(crate) users: UserOptions,
}

/// Where the store of names is.
#[derive(Debug, Clone)]
pub(crate) struct StoreAddress {
    pub(crate) endpoints: Vec<String>,
    /// What all keys begin with.
    pub(crate) prefix: String,
    pub(crate) channel: StoreChannel,
}

/// How the store is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreChannel {
    Plain,
    Tls,
}

impl std::str::FromStr for StoreAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (channel, scheme, rest) = if let Some(rest) = text.strip_prefix("etcds://") {
            (StoreChannel::Tls, "https", rest)
        } else if let Some(rest) = text.strip_prefix("etcd://") {
            (StoreChannel::Plain, "http", rest)
        } else {
            return Err("it begins with etcd:// or etcds://".to_owned());
        };
        let (hosts, prefix) = rest.split_once('/').unwrap_or((rest, "anybinder"));
        let is_endpoint = |host: &str| {
            let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
            matches!(port, Some(Ok(1..)))
        };
        if !hosts.split(',').all(is_endpoint) {
            return Err("it names one HOST:PORT or several, with commas".to_owned());
        }
        let endpoints = hosts.split(',').map(|host| format!("{scheme}://{host}")).collect();
        Ok(Self { endpoints, prefix: format!("/{}/", prefix.trim_matches('/')), channel })
    }
}

/// Why the program could not do its work.
#[derive(Debug, thiserror::Error)]
#[error("{tried}: {answer}")]
pub(crate) struct ClusterError {
    tried: String,
    answer: String,
}

pub(crate) fn failed<E: Display>(tried: impl Into<String>) -> impl FnOnce(E) -> ClusterError {
    let tried = tried.into();
    move |error| ClusterError { tried, answer: error.to_string() }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ClusterError> {
    fs::read(path).map_err(failed(format!("reading {}", path.display())))
}

fn read_text(path: &Path) -> Result<String, ClusterError> {
    fs::read_to_string(path).map_err(failed(format!("reading {}", path.display())))
}

impl CredentialOptions {
    pub(crate) fn load(&self) -> Result<TlsCredentials, ClusterError> {
        let (chain, key) = (read(&self.certificate)?, read(&self.key)?);
        let loaded = TlsCredentials::from_pem(&chain, &key, &read(&self.ca)?);
        let loaded = loaded.map_err(failed("understanding the certificates"))?;
        let Some(lists) = &self.revoked else { return Ok(loaded) };
        let loaded = loaded.with_revocation_lists(&read(lists)?);
        loaded.map_err(failed(format!("understanding {}", lists.display())))
    }

    /// The same options, for another process of this program.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let own: [(_, &Path); 3] =
            [("--certificate", &self.certificate), ("--key", &self.key), ("--ca", &self.ca)];
        own.into_iter().chain(self.revoked.iter().map(|lists| ("--revoked", lists.as_path())))
    }
}

impl UserOptions {
    /// The same options, for another process of this program.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let both = [("--users", &self.users), ("--users-key", &self.users_key)];
        both.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?)))
    }
}

impl StoreCredentialOptions {
    /// The certificates and the user, as the client of a store wants them.
    pub(crate) fn apply(
        &self,
        options: ConnectOptions,
        channel: StoreChannel,
    ) -> Result<ConnectOptions, ClusterError> {
        let options = match (&self.etcd_user, &self.etcd_password_file) {
            (Some(user), Some(file)) => {
                let text = read_text(file)?;
                let password = text.lines().next().unwrap_or_default();
                // Tokens are for some minutes, and for one start of etcd.
                options.with_user(user, password).with_auto_token_refresh(true)
            }
            (None, _) | (_, None) => options,
        };
        let tried = "speaking to etcd";
        match (channel, &self.etcd_ca) {
            (StoreChannel::Plain, None) => Ok(options),
            (StoreChannel::Plain, Some(_)) => {
                Err(failed(tried)("--etcd-ca is for an address with etcds://"))
            }
            (StoreChannel::Tls, None) => {
                Err(failed(tried)("etcds:// wants --etcd-ca, to know it by its certificate"))
            }
            (StoreChannel::Tls, Some(issuers)) => {
                let issuers = Certificate::from_pem(read(issuers)?);
                let tls = TlsOptions::new().ca_certificate(issuers);
                let own = match (&self.etcd_certificate, &self.etcd_key) {
                    (Some(chain), Some(key)) => {
                        tls.identity(Identity::from_pem(read(chain)?, read(key)?))
                    }
                    (None, _) | (_, None) => tls,
                };
                Ok(options.with_tls(own))
            }
        }
    }
}

impl ServeOptions {
    pub(crate) fn ttl(&self) -> Duration {
        Duration::from_secs(self.lease)
    }

    pub(crate) fn policy(&self) -> Result<AccessPolicy, ClusterError> {
        let Some(path) = &self.policy else { return Ok(AccessPolicy::AllowAll) };
        let parsed = AccessPolicy::parse(&read_text(path)?);
        parsed.map_err(failed(format!("understanding {}", path.display())))
    }

    pub(crate) fn declarations(&self) -> Result<Declarations, ClusterError> {
        let Some(path) = &self.declared else { return Ok(Declarations::default()) };
        let parsed = Declarations::parse(&read_text(path)?);
        parsed.map_err(failed(format!("understanding {}", path.display())))
    }
}
