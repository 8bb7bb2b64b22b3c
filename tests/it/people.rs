//! The human side: the page in a real browser, the server behind it, and the row on the board.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use fantoccini::{Client, Locator};
use serde_json::{Value, json};

use super::browser::Browser;
use super::support::Folder;

/// A running `wheel people`.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(folder: &Folder) -> Self {
        let mut child = folder
            .command("people --port 0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut address)
            .unwrap();
        let address = address.trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Self { child, address }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Three questions, so that a person is done soon.
fn three() -> Folder {
    let folder = Folder::new();
    folder.write(
        "questions/q.yaml",
        "name: q\nquestions:\n  - id: a\n    tier: fermi\n    text: the number of <b>beans</b> in the jar\n    reference: 1000\n    derivation: a guess\n  - id: b\n    tier: fermi\n    text: the length of the rope\n    unit: meters\n    reference: 50\n    derivation: a guess\n  - id: c\n    tier: fermi\n    text: the number of steps\n    reference: 300\n    derivation: a guess\n",
    );
    folder.wheel("questions check questions").expect(0);
    folder
}

/// Answers the question on the page with its own anchor.
async fn answer_one(client: &Client, side: &str) -> String {
    let question = client.find(Locator::Id("comparison")).await.unwrap();
    let text = question.text().await.unwrap();
    let anchor = regex::Regex::new(r"than ([0-9,]+)").unwrap();
    let anchor = anchor.captures(&text).unwrap()[1].to_owned();
    let radio = format!("input[value={side}]");
    client
        .find(Locator::Css(&radio))
        .await
        .unwrap()
        .click()
        .await
        .unwrap();
    client
        .find(Locator::Id("answer"))
        .await
        .unwrap()
        .send_keys(&anchor)
        .await
        .unwrap();
    client
        .find(Locator::Css("form button"))
        .await
        .unwrap()
        .click()
        .await
        .unwrap();
    text
}

async fn wait_for(client: &Client, id: &str, text: &str) {
    for _ in 0..100 {
        let found = client.find(Locator::Id(id)).await.unwrap();
        if found.text().await.unwrap().contains(text) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{id} never said {text}");
}

#[test]
fn a_person_goes_through_once_and_cannot_go_back() {
    let folder = three();
    let Some(browser) = Browser::start() else {
        return;
    };
    let serving = Serving::start(&folder);
    browser.run(async |client| {
        client.goto(&serving.address).await.unwrap();
        client
            .find(Locator::Id("begin"))
            .await
            .unwrap()
            .click()
            .await
            .unwrap();
        wait_for(client, "place", "Question 1 of 3").await;
        // What is no number is asked for again, and nothing is kept of it.
        client
            .find(Locator::Css("input[value=more]"))
            .await
            .unwrap()
            .click()
            .await
            .unwrap();
        let field = client.find(Locator::Id("answer")).await.unwrap();
        field.send_keys("between 3 and 5").await.unwrap();
        client
            .find(Locator::Css("form button"))
            .await
            .unwrap()
            .click()
            .await
            .unwrap();
        wait_for(client, "wrong", "write one number").await;
        field.clear().await.unwrap();
        let first = answer_one(client, "more").await;
        wait_for(client, "place", "Question 2 of 3").await;
        // Neither the way back nor a reload asks anything anew.
        client.refresh().await.unwrap();
        wait_for(client, "place", "Question 2 of 3").await;
        let second = answer_one(client, "less").await;
        assert_ne!(first, second);
        wait_for(client, "place", "Question 3 of 3").await;
        answer_one(client, "less").await;
        wait_for(client, "said", "All 3 answers are given").await;
        client.back().await.ok();
        assert_eq!(
            client.find_all(Locator::Css("b")).await.unwrap().len(),
            0,
            "no text is markup"
        );
    });
    drop(serving);
    let text = folder.read("people/people/classic.jsonl");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    for line in &lines {
        assert_eq!(line["epoch"], lines[0]["epoch"]);
        assert_eq!(line["turn"], 1);
        assert!(
            line["clock"]["started"]
                .as_str()
                .unwrap()
                .ends_with("T00:00:00.000Z")
        );
        assert!(line["text"].as_str().unwrap().contains("ESTIMATE: "));
    }
    assert!(!text.contains("Mozilla") && !text.contains("127.0.0.1"));
}

#[test]
fn the_server_takes_each_answer_once_and_only_from_its_own_page() {
    let folder = three();
    let serving = Serving::start(&folder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}answer", serving.address);
    let send = |line: Value, headers: &[(&'static str, &str)]| {
        let mut request = client.post(&url).body(line.to_string());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        runtime.block_on(async { request.send().await.unwrap().status().as_u16() })
    };
    let line = json!({"person": "abcdefgh1234", "item": "a", "condition": "low", "comparison": "more", "answer": "1.5 thousand"});
    assert_eq!(
        send(line.clone(), &[("origin", "http://evil.example")]),
        403
    );
    assert_eq!(send(line.clone(), &[("host", "evil.example")]), 403);
    assert_eq!(send(line.clone(), &[]), 204);
    assert_eq!(send(line.clone(), &[]), 409);
    let with = |name: &str, value: Value| {
        let mut line = line.clone();
        line[name] = value;
        line
    };
    assert_eq!(send(with("item", json!("nowhere")), &[]), 400);
    assert_eq!(send(with("person", json!("../../x")), &[]), 400);
    assert_eq!(send(with("condition", json!("unanchored")), &[]), 400);
    assert_eq!(send(with("name", json!("Ann")), &[]), 400);
    let mut other = with("item", json!("b"));
    other["answer"] = json!("3 or 4");
    assert_eq!(send(other, &[]), 422);
    assert_eq!(send(with("answer", json!("9".repeat(9000))), &[]), 413);
    // A second server on the same store is refused, not let loose on the file.
    folder
        .wheel("people --port 0")
        .expect(1)
        .says(&["classic.jsonl"]);
    assert_eq!(
        folder.read("people/people/classic.jsonl").lines().count(),
        1
    );
    drop(serving);
    // A new start knows who answered what.
    let serving = Serving::start(&folder);
    let url = format!("{}answer", serving.address);
    let again = runtime.block_on(async {
        client
            .post(&url)
            .body(line.to_string())
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    });
    assert_eq!(again, 409);
}

#[test]
fn saved_answers_make_a_row_with_intervals_over_persons() {
    let folder = Folder::new();
    folder.wheel("people --static page.html").expect(0);
    let page = folder.read("page.html");
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("http://") && !page.contains("https://"));
    let data = page
        .split("id=\"data\">")
        .nth(1)
        .unwrap()
        .split("</script>")
        .next()
        .unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let questions = data["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 40);
    // Thirty people who are pulled halfway, each with a bias of their own.
    let than = regex::Regex::new(r"than ([0-9,.]*[0-9])").unwrap();
    let mut text = String::new();
    for person in 0..30_u32 {
        for (place, question) in (0_u32..).zip(questions) {
            let mixed = (person * 1_103 + place * 7_919 + 17).wrapping_mul(2_654_435_761);
            let side = if mixed >> 31 == 0 { "low" } else { "high" };
            let shown = question[side][0].as_str().unwrap();
            let anchor: f64 = than.captures(shown).unwrap()[1]
                .replace(',', "")
                .parse()
                .unwrap();
            let bias = 0.8 + 0.4 * f64::from(person) / 29.0;
            let line = json!({"person": format!("person{person:04}"), "item": question["item"], "condition": side, "comparison": "more", "answer": (anchor.sqrt() * 30.0 * bias).to_string()});
            text.push_str(&format!("{line}\n"));
        }
    }
    folder.write("answers.jsonl", &text);
    folder
        .wheel("import people answers.jsonl")
        .expect(0)
        .says(&["added 1200", "people: 30"]);
    folder
        .wheel("import people answers.jsonl")
        .expect(0)
        .says(&["added 0, already there 1200"]);
    folder
        .wheel("run --quiet --task classic --model scripted/pull=0.5")
        .expect(0);
    let cells = folder
        .wheel("score --json --people people")
        .expect(0)
        .json()["cells"]
        .clone();
    let people = &cells[0];
    assert_eq!(people["model"], "people");
    assert_eq!(people["people"], 30);
    let value = |name: &str| people[name].as_f64().unwrap();
    assert!((value("index") - 0.5).abs() < 0.06, "{}", value("index"));
    assert!(
        value("low") < 0.5 && value("high") > 0.5 && value("high") - value("low") < 0.3,
        "{people}"
    );
    assert!(value("p") < 0.01);
    assert!(people["noise"].is_null() && people["rank"].is_null());
    folder.wheel("leaderboard --people people").expect(0);
    let board = folder.read("leaderboards/wheel.md");
    assert!(
        board.contains("| people (n=30 people; intervals by drawing persons) |"),
        "{board}"
    );
    folder.wheel("verify --people people").expect(0);
    // The board itself says where the people are.
    folder.wheel("verify").expect(0);
    folder.write("bad.jsonl", "{\"person\": \"x\"}\n");
    folder
        .wheel("import people bad.jsonl")
        .expect(2)
        .says(&["bad.jsonl:1"]);
}
