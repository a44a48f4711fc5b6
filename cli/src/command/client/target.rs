//! Finds the service of a command: a server, or a data folder that is opened in this process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use api_client::{ApiClient, ApiError, Method};
use clap::Parser;
use domain::Secret;
use service::LOCAL_KEY;

use super::config_file::ConfigFile;
use super::output::print_note_to_person;
use crate::arguments::{DriveOptions, ModelOptions, TargetOptions};
use crate::command::place::argument;
use crate::command::{build_outside, log_to_stderr};
use crate::listen::{ServingOptions, build_service, mark_as_own};
use crate::request_origin::is_own_address;
use crate::system::LocalSystem;
use crate::workers::Workers;

/// The time in which a server of this machine says that it is there.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// A command that opens the data folder searches it once or twice, so it needs little cache.
const SERVING_OPTIONS: ServingOptions = ServingOptions::for_this_machine(256 * 1024 * 1024);

/// The use that a command makes of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reads. A data folder that does not exist is not created.
    Read,
    /// Changes what is stored.
    Change,
    /// Adds content, and waits until it is processed.
    Process,
}

/// The place of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Server {
        url: String,
        key: Option<Secret>,
    },
    Folder(PathBuf),
    /// The server of this machine if it answers, and otherwise the folder.
    ServerOrFolder {
        url: String,
        key: Option<Secret>,
        folder: PathBuf,
    },
}

/// A service that a command can call.
pub(super) struct OpenService {
    pub(super) client: ApiClient,
    /// The service as messages name it.
    pub(super) name: String,
    /// The data folder, if the service runs in this process.
    pub(super) folder: Option<PathBuf>,
    workers: Option<Workers>,
}

/// The settings of models and drives, which a command takes from the environment alone.
#[derive(Debug, Parser)]
struct EnvironmentOptions {
    #[command(flatten)]
    models: ModelOptions,
    #[command(flatten)]
    drive: DriveOptions,
}

impl OpenService {
    /// Finds and opens the service that the options name.
    ///
    /// # Errors
    /// Fails if there is none, or if a key is missing.
    pub(super) async fn open(options: &TargetOptions, purpose: Purpose) -> Result<Self> {
        match find_place(options)? {
            Place::Server { url, key } => connect(&url, key),
            Place::Folder(folder) => open_folder(options, &folder, purpose).await,
            Place::ServerOrFolder { url, key, folder } => {
                if let Some(server) = find_running_server(&url, key).await? {
                    return Ok(server);
                }
                if purpose == Purpose::Read && !folder.is_dir() {
                    bail!(
                        "no server answers at {url}, and there is no data folder {}; start a server with \
                         `recollect serve`, or add something with `recollect add`",
                        folder.display()
                    );
                }
                print_note_to_person(&format!(
                    "No server answers at {url} with this machine's key, so the data folder {} is opened here.",
                    folder.display()
                ));
                open_folder(options, &folder, purpose).await
            }
        }
    }

    /// Finds the service whose health is asked for, which needs no key. A data folder stands in for a server only if
    /// the command line names it.
    ///
    /// # Errors
    /// Fails if the address is none, or if the folder cannot be opened.
    pub(super) async fn open_for_health(options: &TargetOptions) -> Result<Self> {
        match find_place(options)? {
            Place::Folder(folder) => open_folder(options, &folder, Purpose::Read).await,
            Place::Server { url, .. } | Place::ServerOrFolder { url, .. } => {
                let client = ApiClient::over_http(&url)?;
                Ok(Self {
                    name: client.address().to_owned(),
                    client,
                    folder: None,
                    workers: None,
                })
            }
        }
    }

    /// Ends the work of this process. What is unfinished is done by the next one.
    pub(super) async fn close(self) {
        if let Some(workers) = self.workers {
            workers.stop().await;
        }
    }
}

/// Returns the arguments of a command that name the same service, with a space before each. A key is not repeated.
pub(super) fn target_arguments(options: &TargetOptions) -> String {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let named = [
        ("--url", options.url.clone()),
        ("--profile", options.profile.clone()),
        ("--data", path(&options.data)),
        ("--key-file", path(&options.key_file)),
    ];
    let named = named.into_iter();
    let arguments = named.filter_map(|(option, value)| Some(argument(option, &value?)));
    arguments.collect()
}

/// Decides where the service is. What the command line says comes first, then a profile, then the
/// environment.
fn find_place(options: &TargetOptions) -> Result<Place> {
    let given_key = read_given_key(options)?;
    if let Some(folder) = &options.data {
        return Ok(Place::Folder(folder.clone()));
    }
    let environment_key = || {
        let key = options.environment_key.clone();
        key.filter(|key| !key.expose().is_empty())
    };
    if let Some(url) = &options.url {
        // A key in the environment is that of the address in the environment, if there is one.
        let other = options.environment_url.as_ref();
        let is_other =
            other.is_some_and(|other| !other.trim().is_empty() && !is_same_server(other, url));
        let key = given_key.or_else(|| environment_key().filter(|_| !is_other));
        return Ok(server_place(url, key));
    }

    let config = || ConfigFile::read(&ConfigFile::path(&options.config)?);
    let non_empty = |text: &&String| !text.trim().is_empty();
    if let Some(name) = &options.profile {
        return profile_place(&config()?, name, given_key);
    }
    if let Some(url) = options.environment_url.as_ref().filter(non_empty) {
        let key = given_key.or_else(environment_key);
        return Ok(server_place(url, key));
    }
    let config = config()?;
    if let Some(name) = &config.default_profile {
        return profile_place(&config, name, given_key);
    }

    Ok(Place::ServerOrFolder {
        url: format!("http://127.0.0.1:{}", options.environment_port),
        key: given_key.or_else(environment_key),
        folder: options.environment_data.clone(),
    })
}

/// Checks whether two addresses are those of the same server, however they are written.
fn is_same_server(one: &str, other: &str) -> bool {
    let address = |url: &str| ApiClient::over_http(url).map(|client| client.address().to_owned());
    match (address(one), address(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

fn server_place(url: &str, key: Option<Secret>) -> Place {
    Place::Server {
        url: url.to_owned(),
        key,
    }
}

/// Returns the server of a profile. The key in the environment is that of another server.
fn profile_place(config: &ConfigFile, name: &str, given_key: Option<Secret>) -> Result<Place> {
    let profile = config.find(name)?;
    let key = given_key.or_else(|| profile.key.clone());
    Ok(server_place(&profile.url, key))
}

/// Returns the key that the command line names.
fn read_given_key(options: &TargetOptions) -> Result<Option<Secret>> {
    let Some(path) = &options.key_file else {
        return Ok(options.key.clone());
    };
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    match text.trim() {
        "" => bail!("the key file {} is empty", path.display()),
        key => Ok(Some(Secret::new(key))),
    }
}

fn connect(url: &str, key: Option<Secret>) -> Result<OpenService> {
    let client = ApiClient::over_http(url)?;
    let key = match key {
        Some(key) => key,
        None if is_own_address(url) => Secret::new(LOCAL_KEY),
        None => bail!(
            "there is no key for {}; set RECOLLECT_KEY, or use --key-file or a profile",
            client.address()
        ),
    };
    Ok(OpenService {
        name: client.address().to_owned(),
        client: client.with_key(key),
        folder: None,
        workers: None,
    })
}

/// Returns the server of this machine, or `None` if nothing there is a server that takes the key
/// `local`.
///
/// # Errors
/// Fails if there is a server, and it refuses the key that the user has set.
async fn find_running_server(url: &str, key: Option<Secret>) -> Result<Option<OpenService>> {
    let has_own_key = key.is_some();
    let server = connect(url, key)?;
    let probe = server.client.clone().without_retries();
    let session = probe.send(Method::GET, "/v3/session", None);
    // Another program may listen there, and never answer.
    match tokio::time::timeout(PROBE_TIMEOUT, session).await {
        Ok(Ok(_)) => Ok(Some(server)),
        Ok(Err(error @ ApiError::Refused(_))) if has_own_key => {
            Err(error).with_context(|| format!("{url} does not accept the key"))
        }
        Ok(Err(_)) | Err(_) => Ok(None),
    }
}

/// Opens a data folder in this process.
async fn open_folder(
    options: &TargetOptions,
    folder: &Path,
    purpose: Purpose,
) -> Result<OpenService> {
    if purpose == Purpose::Read && !folder.is_dir() {
        bail!(
            "there is no data folder {}; add something to it with `recollect add --data FOLDER`",
            folder.display()
        );
    }

    log_to_stderr(&options.environment_log)?;
    let environment = EnvironmentOptions::try_parse_from(["recollect"])?;
    let external_services = build_outside(&environment.models, &environment.drive, None)?;
    let system = LocalSystem::open(folder, options.environment_durability, None).await?;
    let workers = match purpose {
        Purpose::Process => Some(Workers::start(&system, &external_services).await?),
        Purpose::Read | Purpose::Change => None,
    };

    let routes = build_service(&system, &external_services, SERVING_OPTIONS)?;
    Ok(OpenService {
        client: ApiClient::in_process(mark_as_own(routes)).with_key(Secret::new(LOCAL_KEY)),
        name: format!("the data folder {}", folder.display()),
        folder: Some(folder.to_owned()),
        workers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Cli, ClientCommand, Command};

    /// Returns the options of a `status` with these arguments, and a file of profiles beside.
    fn options(arguments: &[&str], config: &Path) -> TargetOptions {
        let line = ["recollect", "status"].iter().chain(arguments);
        let Some(Command::Client(ClientCommand::Status(status))) =
            Cli::try_parse_from(line).unwrap().command
        else {
            panic!("a status");
        };
        let mut options = status.target;
        options.config.config = Some(config.to_owned());
        options
    }

    fn secret(text: &str) -> Option<Secret> {
        Some(Secret::new(text))
    }

    #[test]
    fn the_command_line_comes_before_profiles_and_those_before_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.toml");
        let key_file = folder.path().join("key");
        fs::write(&key_file, "of-file\n").unwrap();
        let key_file = key_file.to_str().unwrap();
        let profiles = "[profiles.work]\nurl = \"https://work\"\nkey = \"of-work\"\n";
        fs::write(&config, profiles).unwrap();
        let place = |arguments: &[&str]| find_place(&options(arguments, &config)).unwrap();
        let environment = [
            "--environment-url",
            "https://env",
            "--environment-key",
            "of-env",
        ];
        let with_environment = |arguments: &[&str]| place(&[arguments, &environment].concat());

        assert_eq!(
            place(&["--environment-port", "1", "--environment-data", "x"]),
            Place::ServerOrFolder {
                url: "http://127.0.0.1:1".to_owned(),
                key: None,
                folder: PathBuf::from("x")
            }
        );
        let of_environment = server_place("https://env", secret("of-env"));
        assert_eq!(with_environment(&[]), of_environment);
        assert_eq!(
            with_environment(&["--data", "y"]),
            Place::Folder("y".into())
        );
        assert_eq!(
            with_environment(&["--url", "https://line"]),
            server_place("https://line", None),
            "the key of another server"
        );
        for url in ["https://env", "https://env/", " https://ENV:443/"] {
            let place_of_line = with_environment(&["--url", url]);
            assert_eq!(place_of_line, server_place(url, secret("of-env")), "{url}");
        }
        assert_eq!(
            place(&["--url", "https://line", "--environment-key", "of-env"]),
            server_place("https://line", secret("of-env"))
        );
        assert_eq!(
            with_environment(&["--url", "https://line", "--key-file", key_file]),
            server_place("https://line", secret("of-file"))
        );
        assert_eq!(
            with_environment(&["--profile", "work"]),
            server_place("https://work", secret("of-work"))
        );
        assert_eq!(
            with_environment(&["--profile", "work", "--key", "of-line"]),
            server_place("https://work", secret("of-line"))
        );

        fs::write(&config, format!("default_profile = \"work\"\n{profiles}")).unwrap();
        assert_eq!(with_environment(&[]), of_environment);
        assert_eq!(
            place(&["--environment-key", "of-env"]),
            server_place("https://work", secret("of-work")),
            "the key of one server is not sent to another"
        );
    }

    #[test]
    fn the_arguments_of_a_hint_name_the_same_service() {
        for (arguments, expected) in [
            (&[][..], ""),
            (&["--profile", "work"], " --profile work"),
            (&["--data", "my data"], " --data 'my data'"),
            (
                &["--url", "https://a.example", "--key", "secret"],
                " --url https://a.example",
            ),
            (
                &["--url", "https://a.example", "--key-file", "key"],
                " --url https://a.example --key-file key",
            ),
        ] {
            let options = options(arguments, Path::new("config.toml"));
            assert_eq!(target_arguments(&options), expected);
        }
    }

    #[test]
    fn a_server_elsewhere_needs_a_key() {
        let Err(error) = connect("https://memory.example.com", None) else {
            panic!("there is no key");
        };
        assert!(error.to_string().contains("RECOLLECT_KEY"), "{error}");
        assert!(connect("http://localhost:8787", None).is_ok());
    }
}
