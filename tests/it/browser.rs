//! A real browser without a window, driven over `WebDriver`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;

/// A browser that ends with the value.
pub struct Browser {
    driver: Child,
    runtime: tokio::runtime::Runtime,
    client: Option<Client>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts it; `None`, with a visible line, where no Chromium and driver are installed.
    pub fn start() -> Option<Self> {
        let found = Command::new("chromedriver")
            .args(["--port=0", "--log-level=WARNING"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = found else {
            skipped();
            return None;
        };
        let out = BufReader::new(driver.stdout.take().unwrap());
        // "ChromeDriver was started successfully on port 12345."
        let port: u16 = out
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, port) = line.split_once("successfully on port ")?;
                port.trim_end_matches('.').parse().ok()
            })
            .expect("the driver tells its port");
        let profile = tempfile::tempdir().unwrap();
        let options = json!({
            "goog:chromeOptions": {"args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--window-size=1200,1600", format!("--user-data-dir={}", profile.path().display()),
            ]},
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let client = runtime
            .block_on(
                ClientBuilder::new(HttpConnector::new())
                    .capabilities(options.as_object().unwrap().clone())
                    .connect(&format!("http://127.0.0.1:{port}")),
            )
            .expect("Chromium starts");
        Some(Self {
            driver,
            runtime,
            client: Some(client),
            _profile: profile,
        })
    }

    /// Runs steps in it.
    pub fn run<T>(&self, steps: impl AsyncFnOnce(&Client) -> T) -> T {
        let client = self.client.as_ref().unwrap();
        self.runtime.block_on(steps(client))
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn skipped() {
    eprintln!("SKIPPED: no chromedriver on the path (Debian: chromium-driver)");
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            let _ = self.runtime.block_on(client.close());
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
