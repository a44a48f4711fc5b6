//! Tests of the sandbox with real child processes: this executable starts itself. Started under
//! another name (a link), it plays a child to which something happened.

#[path = "../../content/tests/make/mod.rs"]
mod make;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use content::{ExtractedDocument, FailureCode, Format};
use sandbox::{CHILD_ARGUMENT, Sandbox, SandboxError, child_main, confine_process};

pub(crate) fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let name = Path::new(&arguments[0])
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();

    match arguments.get(1).map(String::as_str) {
        Some(CHILD_ARGUMENT) => play_child(name),
        // Test runners ask for the names of the tests.
        Some("--list") => {
            let is_ignored = arguments.iter().any(|argument| argument == "--ignored");
            let list = if is_ignored { "" } else { "sandbox: test\n" };
            let _ = std::io::stdout().write_all(list.as_bytes());
            ExitCode::SUCCESS
        }
        _ => run_tests(),
    }
}

/// Plays the child in one of its fates.
fn play_child(scenario: &str) -> ExitCode {
    match scenario {
        "crash" => std::process::abort(),
        "hang" => std::thread::sleep(Duration::from_secs(600)),
        "refuse" => return ExitCode::FAILURE,
        "leak" => {
            rlimit::Resource::AS
                .set(512 << 20, 512 << 20)
                .expect("lowering a limit is allowed");
            let mut allocations = Vec::new();
            loop {
                allocations.push(vec![1u8; 16 << 20]);
            }
        }
        "overflow" => return ExitCode::from(u8::from(overflow_stack(0) == 0)),
        "environment" => {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            names.sort();
            write_answer(names.join(" "));
        }
        "descriptors" => {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            write_answer(open_descriptors().join(" "));
        }
        "escape" => {
            confine_process().expect("the limits can be set");
            let mut secret = Vec::new();
            let _ = std::io::stdin().read_to_end(&mut secret);
            write_answer(try_escapes());
        }
        _ => return child_main(),
    }

    ExitCode::SUCCESS
}

/// Answers like a child that has read a document.
fn write_answer(text: String) {
    let (title, properties) = (None, Default::default());
    let answer: Result<_, content::ContentFailure> = Ok(ExtractedDocument {
        format: Format::Pdf,
        text,
        title,
        properties,
    });
    let _ = serde_json::to_writer(std::io::stdout(), &answer);
}

/// Returns the targets of the open descriptors of this process.
fn open_descriptors() -> Vec<String> {
    let open = std::fs::read_dir("/proc/self/fd").expect("the folder of descriptors");
    let targets = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.map(|target| target.display().to_string()).collect()
}

/// Tries everything that a hijacked parser would try, and returns what succeeded.
fn try_escapes() -> String {
    let executable = own_executable_by_argument();
    let folder = executable.parent().expect("it is in a folder").to_owned();
    let attempts: [(&str, bool); 9] = [
        (
            "read a file of the system",
            std::fs::read("/etc/passwd").is_ok(),
        ),
        (
            "read the data folder",
            std::fs::read(folder.join("secret.key")).is_ok(),
        ),
        ("list the data folder", std::fs::read_dir(&folder).is_ok()),
        (
            "read the environment of its parent",
            std::fs::read(parent_environment()).is_ok(),
        ),
        (
            "write a file",
            std::fs::write(folder.join("left"), "x").is_ok(),
        ),
        (
            "open a connection",
            std::net::TcpStream::connect(("127.0.0.1", 9)).is_ok_or_refused(),
        ),
        ("listen", std::net::TcpListener::bind("127.0.0.1:0").is_ok()),
        (
            "send a datagram",
            std::net::UdpSocket::bind("127.0.0.1:0").is_ok(),
        ),
        (
            "start a program",
            std::process::Command::new("/bin/true").spawn().is_ok(),
        ),
    ];

    attempts
        .into_iter()
        .filter(|(_, worked)| *worked)
        .map(|(attempt, _)| attempt)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the path under which this child was started, a link in a folder with a secret.
fn own_executable_by_argument() -> PathBuf {
    std::env::args().next().expect("it has a name").into()
}

fn parent_environment() -> String {
    format!("/proc/{}/environ", std::os::unix::process::parent_id())
}

trait OrRefused {
    /// Checks whether a connection was made, or was tried and refused by the other side.
    fn is_ok_or_refused(&self) -> bool;
}

impl<T> OrRefused for std::io::Result<T> {
    fn is_ok_or_refused(&self) -> bool {
        self.as_ref().map_or_else(
            |error| error.kind() == std::io::ErrorKind::ConnectionRefused,
            |_| true,
        )
    }
}

/// Recurses until the stack overflows.
#[expect(unconditional_recursion, reason = "the stack is to overflow")]
fn overflow_stack(level: u64) -> u64 {
    let room = std::hint::black_box([level; 64]);
    overflow_stack(room[0] + 1) + room[1]
}

fn run_tests() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        a_document_is_read_in_a_child_as_in_process().await;
        failures_of_the_document_come_back().await;
        plain_text_needs_no_child().await;
        the_fate_of_the_child_is_told().await;
        a_document_that_takes_too_long_is_given_up().await;
        a_child_sees_no_environment_of_the_server().await;
        a_child_has_no_file_of_its_parent_open().await;
        a_child_reaches_nothing_but_its_document().await;
        tables_are_read_in_a_child_within_its_memory().await;
        a_large_document_fits_through_the_pipes().await;
        office_files_and_mail_are_read_in_a_child().await;
        a_bomb_ends_with_a_limit_and_the_next_document_is_read().await;
    });

    ExitCode::SUCCESS
}

fn own_executable() -> PathBuf {
    std::env::current_exe().expect("the executable has a path")
}

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../content/tests/data")
        .join(name);
    std::fs::read(path).expect("the fixture exists")
}

/// Returns a sandbox whose children meet a fate, and the folder that must outlive it.
fn sandbox_with_fate(scenario: &str) -> (Sandbox, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let link = folder.path().join(scenario);
    std::os::unix::fs::symlink(own_executable(), &link).expect("a link is made");
    (Sandbox::in_child(link), folder)
}

async fn a_document_is_read_in_a_child_as_in_process() {
    for name in ["two-pages.pdf", "page.html"] {
        let bytes = fixture(name);
        let inside = Sandbox::in_child(own_executable())
            .extract_document(&bytes, Some(name), None)
            .await;
        let outside = Sandbox::in_process()
            .extract_document(&bytes, Some(name), None)
            .await;
        assert_eq!(
            inside.expect("it is read"),
            outside.expect("it is read"),
            "{name}"
        );
    }
}

async fn failures_of_the_document_come_back() {
    let sandbox = Sandbox::in_child(own_executable());
    for (name, code) in [
        ("encrypted.pdf", FailureCode::Encrypted),
        ("truncated.pdf", FailureCode::Corrupt),
        ("no-text.pdf", FailureCode::Empty),
    ] {
        let error = sandbox
            .extract_document(&fixture(name), None, Some("application/pdf"))
            .await;
        assert!(
            matches!(&error, Err(SandboxError::Content(failure)) if failure.code == code),
            "{name}: {error:?}"
        );
    }
}

async fn plain_text_needs_no_child() {
    let without_child = Sandbox::in_child("/nonexistent".into());
    let text = without_child
        .extract_document(b"# Tides\n\nThe moon.", None, None)
        .await
        .expect("no child is started");
    assert_eq!(text.title.as_deref(), Some("Tides"));
    let page = without_child
        .extract_document(b"<html><p>x</html>", None, None)
        .await;
    assert!(
        matches!(page, Err(SandboxError::Unavailable(_))),
        "{page:?}"
    );
}

async fn the_fate_of_the_child_is_told() {
    for (scenario, code) in [
        ("crash", Some(FailureCode::Corrupt)),
        ("leak", Some(FailureCode::ContentLimit)),
        ("overflow", Some(FailureCode::ContentLimit)),
        ("refuse", None),
    ] {
        let (sandbox, _folder) = sandbox_with_fate(scenario);
        let outcome = match sandbox
            .extract_document(&fixture("two-pages.pdf"), None, None)
            .await
        {
            Err(SandboxError::Content(failure)) => Some(failure.code),
            Err(SandboxError::Unavailable(_)) => None,
            Ok(extracted) => panic!("{scenario}: {extracted:?}"),
        };
        assert_eq!(outcome, code, "{scenario}");
    }
}

async fn a_document_that_takes_too_long_is_given_up() {
    let (sandbox, _folder) = sandbox_with_fate("hang");
    let sandbox = sandbox.with_wall_time(Duration::from_millis(200));
    let error = sandbox
        .extract_document(&fixture("two-pages.pdf"), None, None)
        .await;
    let is_limit = matches!(&error, Err(SandboxError::Content(failure)) if failure.code == FailureCode::ContentLimit);
    assert!(is_limit, "{error:?}");
}

async fn a_child_sees_no_environment_of_the_server() {
    let (sandbox, _folder) = sandbox_with_fate("environment");
    let seen = sandbox
        .extract_document(&fixture("two-pages.pdf"), None, None)
        .await
        .expect("it answers");
    assert_eq!(
        seen.text,
        "MALLOC_ARENA_MAX MIMALLOC_ARENA_EAGER_COMMIT MIMALLOC_ARENA_RESERVE RAYON_NUM_THREADS"
    );
}

async fn a_child_has_no_file_of_its_parent_open() {
    let (sandbox, folder) = sandbox_with_fate("descriptors");
    let before = open_descriptors();
    let _file = std::fs::File::create(folder.path().join("database")).expect("a file is made");
    let _socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    // The parent of this process may have left it descriptors that are not closed on exec.
    let own: Vec<String> = open_descriptors()
        .into_iter()
        .filter(|target| !before.contains(target))
        .collect();

    assert!(own.len() >= 2, "{own:?}");
    let seen = sandbox
        .extract_document(&fixture("two-pages.pdf"), None, None)
        .await
        .expect("it answers");

    assert!(seen.text.contains("pipe:"), "{}", seen.text);
    let leaked = own
        .iter()
        .find(|target| seen.text.split(' ').any(|open| open == *target));
    assert_eq!(leaked, None);
}

async fn a_child_reaches_nothing_but_its_document() {
    let (sandbox, folder) = sandbox_with_fate("escape");
    std::fs::write(folder.path().join("secret.key"), "secret").expect("a file is made");
    let confinement = Sandbox::in_child(own_executable())
        .probe_walls()
        .await
        .expect("a child tells")
        .expect("there is a child");
    let reached = sandbox
        .extract_document(&fixture("two-pages.pdf"), None, None)
        .await
        .expect("it answers");
    // Without the filter, the limit on open files still keeps files and connections out of reach.
    let possible = if confinement.seccomp {
        ""
    } else {
        "start a program"
    };
    assert_eq!(reached.text, possible, "{confinement}");
    assert!(!folder.path().join("left").exists());
}

async fn tables_are_read_in_a_child_within_its_memory() {
    let without_child = Sandbox::in_child("/nonexistent".into())
        .extract_document(b"a,b\n1,2", Some("a.csv"), None)
        .await;

    assert!(
        matches!(without_child, Err(SandboxError::Unavailable(_))),
        "{without_child:?}"
    );
    let sandbox = Sandbox::in_child(own_executable());
    let table = sandbox
        .extract_document(b"a,b\n1,2", Some("a.csv"), None)
        .await
        .expect("it is read");

    assert_eq!(table.text, "# a\n\n| a | b |\n| --- | --- |\n| 1 | 2 |");
    let commas = sandbox
        .extract_document(&vec![b','; 29 << 20], Some("a.csv"), None)
        .await;
    let message = "The table has a row of more than 16384 cells; send fewer columns.";

    assert!(
        matches!(&commas, Err(SandboxError::Content(failure)) if failure.message == message),
        "{commas:?}"
    );
}

async fn a_large_document_fits_through_the_pipes() {
    let page = format!(
        "<html><body>{}</body></html>",
        "<p>A paragraph of words.</p>\n".repeat(20_000)
    );
    let read = Sandbox::in_child(own_executable())
        .extract_document(page.as_bytes(), None, None)
        .await
        .expect("it is read");
    assert_eq!(read.text.matches("A paragraph").count(), 20_000);
}

async fn office_files_and_mail_are_read_in_a_child() {
    let mail = b"From: a@b.example\nMIME-Version: 1.0\nSubject: Hi\n\nBody".to_vec();

    for (name, bytes) in [
        ("a.docx", make::docx(&make::docx_body())),
        (
            "a.xlsx",
            make::xlsx(&format!("<row>{}</row>", make::cell("A1", "x"))),
        ),
        ("a.epub", make::epub(&["<p>x</p>"], &[])),
        ("a.eml", mail),
    ] {
        let without_child = Sandbox::in_child("/nonexistent".into())
            .extract_document(&bytes, Some(name), None)
            .await;
        assert!(
            matches!(without_child, Err(SandboxError::Unavailable(_))),
            "{name}: {without_child:?}"
        );
        let inside = Sandbox::in_child(own_executable())
            .extract_document(&bytes, Some(name), None)
            .await;
        let outside = Sandbox::in_process()
            .extract_document(&bytes, Some(name), None)
            .await;
        assert_eq!(
            inside.expect("it is read"),
            outside.expect("it is read"),
            "{name}"
        );
    }
}

async fn a_bomb_ends_with_a_limit_and_the_next_document_is_read() {
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
    let nested = format!("BT /F1 12 Tf {}(x)", "[".repeat(5_000_000));
    let spaces = r#"<text:p>a<text:s text:c="2000000000"/>b</text:p>"#;
    let mail = format!(
        "From: a\nMIME-Version: 1.0\nTo: b\n{}",
        "Content-Type: message/rfc822\n\n".repeat(300_000)
    );
    let sandbox = Sandbox::in_child(own_executable());

    for (name, bomb) in [
        ("nested.pdf", make::pdf_page(&nested, font, &[])),
        ("spaces.odt", make::open_document("text", spaces, "")),
        ("nested.eml", mail.into_bytes()),
    ] {
        let error = sandbox.extract_document(&bomb, Some(name), None).await;
        let is_limit = matches!(&error, Err(SandboxError::Content(failure)) if failure.code == FailureCode::ContentLimit);
        assert!(is_limit, "{name}: {:.300}", format!("{error:?}"));
        sandbox
            .extract_document(&fixture("two-pages.pdf"), None, None)
            .await
            .expect("the next document is read");
    }
}
