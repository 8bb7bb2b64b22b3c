//! A folder to work in, the program, and a server to ask.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use wheel::bank::cases::{self, Wording};
use wheel::store;
use wheel::task::{self, Tasks};
use wiremock::matchers::{method, path_regex};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// An empty folder in which the program runs, without any key in its environment.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wheel"));
        command
            .args(words.split_whitespace())
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("WHEEL_OFFLINE", "1");
        command
    }

    pub fn wheel(&self, words: &str) -> Run {
        Run::from(self.command(words).output().unwrap())
    }

    /// The stored lines of a cell.
    pub fn lines(&self, model: &str, task: &str) -> Vec<Value> {
        std::fs::read_to_string(
            self.path()
                .join("runs")
                .join(model)
                .join(format!("{task}.jsonl")),
        )
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
    }
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "\nstdout: {}\nstderr: {}",
            self.out, self.err
        );
        self
    }

    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in: {}", self.err);
        }
        self
    }

    /// Checks that stdout holds all these.
    pub fn prints(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.out.contains(word), "no {word:?} in\n{}", self.out);
        }
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

/// The tasks of all suites.
pub fn built_in_tasks() -> Tasks {
    task::load(&task::built_in(), &built_in_wording()).unwrap()
}

/// The sentences of cases.
pub fn built_in_wording() -> Wording {
    cases::load_wording(&cases::built_in_wording()).unwrap()
}

/// A file or folder of the published data beside the repository; `None`, said aloud, where it is absent.
pub fn shared_path(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/data")
        .join(name);
    if !path.exists() {
        // Straight to the terminal, which the test harness does not capture.
        let _ = writeln!(std::io::stderr(), "skipped: {} is not here", path.display());
        return None;
    }
    Some(path)
}

/// The text of a file of the published data, unpacked.
pub fn shared(name: &str) -> Option<String> {
    Some(store::read_text(&shared_path(name)?).unwrap())
}

/// A chat completion with usage.
pub fn completion(text: &str) -> Value {
    json!({
        "id": "call-1",
        "model": "served-model",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 31, "completion_tokens": 9, "total_tokens": 40,
            "completion_tokens_details": {"reasoning_tokens": 0}, "prompt_tokens_details": {"cached_tokens": 0}}
    })
}

/// How often each prompt was asked.
#[derive(Clone, Default)]
pub struct Asked(Arc<Mutex<HashMap<String, usize>>>);

impl Asked {
    /// Notes a request and says how often its prompt came before.
    pub fn note(&self, request: &Request) -> usize {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let prompt = body["messages"].to_string();
        let mut asked = self.0.lock().unwrap();
        let times = asked.entry(prompt).or_default();
        *times += 1;
        *times - 1
    }

    pub fn total(&self) -> usize {
        self.0.lock().unwrap().values().sum()
    }

    pub fn times(&self) -> HashMap<String, usize> {
        self.0.lock().unwrap().clone()
    }
}

/// A server whose answer is a function of the request and of how often its prompt came before.
pub struct Server {
    pub mock: MockServer,
    pub asked: Asked,
    runtime: tokio::runtime::Runtime,
}

struct Answering<F> {
    asked: Asked,
    answer: F,
}

impl<F> Respond for Answering<F>
where
    F: Fn(&Request, usize) -> ResponseTemplate + Send + Sync,
{
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let before = self.asked.note(request);
        (self.answer)(request, before)
    }
}

impl Server {
    pub fn new<F>(answer: F) -> Self
    where
        F: Fn(&Request, usize) -> ResponseTemplate + Send + Sync + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let asked = Asked::default();
        let answering = Answering {
            asked: asked.clone(),
            answer,
        };
        let mock = runtime.block_on(async {
            let server = MockServer::start().await;
            Mock::given(method("POST"))
                .and(path_regex(
                    "^/v1(/openapi)?/(chat/)?completions$|^/(tokenize|completion)$",
                ))
                .respond_with(answering)
                .mount(&server)
                .await;
            server
        });
        Self {
            mock,
            asked,
            runtime,
        }
    }

    /// A server that answers every prompt with the same estimate after a while.
    pub fn steady(text: &'static str, delay: Duration) -> Self {
        Self::new(move |_, _| ok(text).set_delay(delay))
    }

    /// What stands after `--model`.
    pub fn model(&self) -> String {
        format!("{}/v1#m", self.mock.uri())
    }

    /// A models file with this server under the name `served`.
    pub fn models(&self, more: &str) -> String {
        format!(
            "models:\n  - name: served\n    provider: openai_compatible\n    model: m\n    base_url: {}/v1\n{more}",
            self.mock.uri()
        )
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.runtime
            .block_on(self.mock.received_requests())
            .unwrap()
            .iter()
            .map(|request| serde_json::from_slice(&request.body).unwrap())
            .collect()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.runtime
            .block_on(self.mock.received_requests())
            .unwrap()
    }
}

pub fn ok(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(completion(text))
}
