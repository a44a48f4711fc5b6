//! `recollect mcp`: the protocol of assistants on the standard streams, and their configuration.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::server::recollect_command;

/// A process that an assistant has started.
struct Assistant {
    process: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Assistant {
    fn start(data: &Path) -> Self {
        let mut command = recollect_command();
        command.args(["mcp", "--data"]).arg(data);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the binary starts");
        let answers = BufReader::new(process.stdout.take().expect("an output"));
        let mut assistant = Self { process, answers };

        let client = json!({"name": "test", "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let server = assistant.request("initialize", hello);
        assert_eq!(server["serverInfo"]["name"], "recollect");
        assistant.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assistant
    }

    fn write(&mut self, message: &Value) {
        let input = self.process.stdin.as_mut().expect("an input");
        writeln!(input, "{message}").expect("the process reads");
    }

    /// Sends a request and returns its result. Every line of the output has to be of the protocol.
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.write(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("a message of the protocol");
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        answer["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].clone()
    }

    /// Closes the input. The process ends by itself, and has nothing more to say.
    fn close(mut self) {
        drop(self.process.stdin.take());
        let mut rest = String::new();
        self.answers.read_line(&mut rest).expect("an end");
        assert_eq!(rest, "");
        assert!(self.process.wait().expect("an end").success());
    }
}

#[test]
fn an_assistant_remembers_without_a_server_and_its_process_ends_with_the_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut assistant = Assistant::start(folder.path());
    let content = "I prefer green tea in the morning.";
    let arguments = json!({"content": content, "container": "nora", "wait": true});
    assert_eq!(assistant.call("add", arguments)["status"], "done");
    assistant.close();

    // A second process finds what the first has stored.
    let mut assistant = Assistant::start(folder.path());
    let arguments = json!({"query": "Which tea do I prefer in the morning?", "container": "nora"});
    let found = assistant.call("search", arguments).to_string();
    assert!(found.contains("green tea"), "{found}");
    assistant.close();
}

fn change(home: &Path, arguments: &[&str]) -> Output {
    let mut command = recollect_command();
    command.env("HOME", home).env("RECOLLECT_KEY", "rk_secret");
    command.arg("mcp").args(arguments).stdin(Stdio::null());
    command.output().expect("the binary starts")
}

#[test]
fn a_configuration_is_changed_on_demand_only_and_changed_back() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".cursor");
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("mcp.json");
    let before = "{\n  \"mcpServers\": {\"other\": {\"env\": {\"TOKEN\": \"theirs\"}}}\n}\n";
    fs::write(&file, before).expect("a file");
    let url = "https://memory.example.com";

    // Nobody is there to confirm the change.
    let output = change(home.path(), &["install", "cursor", "--url", url]);
    assert!(!output.status.success());
    assert_eq!(fs::read_to_string(&file).expect("a file"), before);

    let output = change(home.path(), &["install", "cursor", "--url", url, "--yes"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains(url), "{shown}");
    assert!(
        !shown.contains("rk_secret") && !shown.contains("theirs"),
        "{shown}"
    );
    let changed = fs::read_to_string(&file).expect("a file");
    let config: Value = serde_json::from_str(&changed).expect("JSON");
    let entry = &config["mcpServers"]["recollect"];
    assert_eq!(entry["env"]["RECOLLECT_KEY"], "rk_secret");
    assert_eq!(config["mcpServers"]["other"]["env"]["TOKEN"], "theirs");
    let backup = folder.join("mcp.json.recollect-backup");
    assert_eq!(fs::read_to_string(backup).expect("a backup"), before);

    let output = change(home.path(), &["uninstall", "cursor", "--yes"]);
    assert!(output.status.success());
    assert_eq!(fs::read_to_string(&file).expect("a file"), before);
}

#[test]
fn a_configuration_that_cannot_be_read_is_left_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("mcp.json");
    let before = "{ // a comment\n}\n";
    fs::write(&file, before).expect("a file");
    let path = file.to_str().expect("a path");
    let output = change(home.path(), &["install", "vscode", "--file", path, "--yes"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && error.contains("--print"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&file).expect("a file"), before);

    let output = change(home.path(), &["install", "codex", "--print"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("[mcp_servers.recollect]"), "{shown}");
    assert!(!shown.contains("rk_secret"), "{shown}");
    assert!(!home.path().join(".codex").exists());
}
