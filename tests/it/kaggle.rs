//! Kaggle: our notebooks run in the SDK, and its run files come back as our samples.

use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};

use super::support::{Folder, Server, ok};

/// Runs a notebook with the SDK against a server; false, with a visible line, where the SDK is not installed.
fn run_notebook(folder: &Folder, server: &Server, file: &str) -> bool {
    let has = Command::new("python3")
        .args(["-c", "import kaggle_benchmarks"])
        .current_dir(folder.path())
        .output()
        .is_ok_and(|done| done.status.success());
    if !has {
        skipped();
        return false;
    }
    let done = Command::new("python3")
        .arg(file)
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env("MODEL_PROXY_URL", format!("{}/v1", server.mock.uri()))
        .env("MODEL_PROXY_API_KEY", "none")
        .env("LLM_DEFAULT", "owner/m")
        .env("LLMS_AVAILABLE", "owner/m")
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    true
}

#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn skipped() {
    eprintln!(
        "SKIPPED: python has no kaggle_benchmarks (pip install kaggle-benchmarks==0.6.2 'hishel[httpx]<2')"
    );
}

/// A server that is pulled, in several notations, and sometimes says nothing that can be read.
fn pulled() -> Server {
    Server::new(|request, _| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let prompt = body["messages"][0]["content"].as_str().unwrap();
        let seed = prompt.bytes().map(usize::from).sum::<usize>();
        let anchor = regex::Regex::new(r"than ([0-9,.]*[0-9])").unwrap();
        let anchor = anchor.captures(prompt).map_or(10.0, |found| {
            found[1].replace(',', "").parse::<f64>().unwrap()
        });
        let value = anchor.powf(0.5) * 30.0;
        ok(&match seed % 7 {
            0 => format!("less\nESTIMATE: {value:.2}"),
            1 => format!("more\n**ESTIMATE:** {value:e}"),
            2 => format!("less\nestimate: {} thousand.", value / 1000.0),
            3 if seed % 3 == 0 => "I had rather not say.".to_owned(),
            4 => format!("more\nESTIMATE: {}", value.round()),
            5 => format!(
                "My first estimate: about 3. A better estimate follows.\nmore\nESTIMATE: {value}"
            ),
            _ => format!("<think>about 3?</think>less\n`ESTIMATE: {value}`"),
        })
    })
}

#[test]
fn a_notebook_asks_our_prompts_and_gives_our_numbers() {
    for task in ["classic", "thinking"] {
        let folder = Folder::new();
        folder
            .wheel(&format!("export kaggle --task {task} --out task.py"))
            .expect(0);
        let server = pulled();
        if !run_notebook(&folder, &server, "task.py") {
            return;
        }
        // The prompts, byte for byte, against the same server.
        let theirs: std::collections::BTreeSet<String> = prompts(&server);
        assert_eq!(theirs.len(), 80);
        let own = pulled();
        let model = own.model();
        folder
            .wheel(&format!(
                "run --quiet --task {task} --store own --model {model}"
            ))
            .expect(0);
        assert_eq!(theirs, prompts(&own));
        // The numbers.
        let import = folder
            .wheel("import kaggle .")
            .expect(0)
            .says(&["added 80, already there 0, left out 0"]);
        let score = |store: &str| {
            let scores = folder
                .wheel(&format!("score --json --store {store}"))
                .expect(0)
                .json();
            let cell = scores["cells"][0].clone();
            let (usable, losses) = (&cell["usable"], &cell["losses"]);
            assert!(usable.as_u64().unwrap() >= 32, "{store} {usable} {losses}");
            cell
        };
        let (imported, asked) = (score("runs"), score("own"));
        for name in ["index", "low", "high", "usable", "losses", "by_item"] {
            assert_eq!(imported[name], asked[name], "{name}");
        }
        let file = folder.read(&format!("anchoring_{task}-run_id_Run_1_owner_m.run.json"));
        let run: Value = serde_json::from_str(&file).unwrap();
        let number = &run["results"][0]["numericResult"];
        let value = |name: &str| imported[name].as_f64().unwrap();
        let close = |a: &Value, b: f64| assert!((a.as_f64().unwrap() - b).abs() < 1e-9, "{a} {b}");
        close(&number["value"], 1.0 - value("index").abs());
        close(
            &number["confidenceInterval"],
            (value("high") - value("low")) / 2.0,
        );
        let states = format!("anchoring {task}, owner/m states 0.");
        assert!(import.err.contains(&states), "{}", import.err);
        folder
            .wheel("import kaggle .")
            .expect(0)
            .says(&["added 0, already there 80"]);
    }
}

fn prompts(server: &Server) -> std::collections::BTreeSet<String> {
    server
        .bodies()
        .iter()
        .map(|body| {
            assert_eq!(body["messages"].as_array().unwrap().len(), 1);
            body["messages"][0]["content"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn every_single_prompt_task_becomes_a_notebook() {
    let folder = Folder::new();
    for task in ["baseline", "classic", "thinking", "random", "ticket"] {
        let text = folder
            .wheel(&format!("export kaggle --task {task}"))
            .expect(0)
            .out;
        // The prompts are a Python string of JSON.
        let line = text
            .lines()
            .find(|line| line.starts_with("PROMPTS = "))
            .unwrap();
        let quoted = line
            .trim_start_matches("PROMPTS = json.loads(")
            .trim_end_matches(')');
        let json: String = serde_json::from_str(quoted).unwrap();
        let prompts: Vec<Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(prompts.len(), if task == "baseline" { 40 } else { 80 });
        assert!(
            text.trim_end()
                .ends_with(&format!("# %choose anchoring {task}"))
        );
        assert!(text.contains("\nmeasure.run(kbench.llm)\n"));
    }
    folder.write(
        "tasks/two.yaml",
        "name: two\ntitle: Two\nabout: two turns\nconditions: [low, high]\nmessages:\n  - user: \"Is {{ question }} more or less than {{ anchor.phrase }}?\"\n  - ask: [comparison]\n  - user: \"Estimate {{ question }}.\"\n  - ask: [estimate]\n",
    );
    let done = folder.wheel("export kaggle --task two");
    assert_eq!(done.code, 2, "{}{}", done.out, done.err);
    folder
        .wheel("export kaggle --task clasic")
        .expect(2)
        .says(&["did you mean classic?"]);
}

/// A run file as the SDK writes it, with one reply.
fn run_file(result: &Value, inner: &[Value]) -> Value {
    json!({
        "taskVersion": {"versionNumber": 1, "name": "anchoring classic", "definition": "…"},
        "modelVersion": {"slug": "owner/m@default"},
        "state": "BENCHMARK_TASK_RUN_STATE_COMPLETED",
        "startTime": "2026-11-01T00:00:00Z",
        "conversations": [{"id": "c", "metrics": {}}],
        "results": [{"type": "AGGREGATED", "numericResult": result}],
        "subruns": inner,
    })
}

fn one(prompt: &str, reply: Option<&str>, result: &Value) -> Value {
    let mut contents = vec![json!({"parts": [{"text": prompt}], "role": "CONTENT_ROLE_USER"})];
    if let Some(reply) = reply {
        contents.push(json!({"parts": [{"text": reply}], "role": "CONTENT_ROLE_ASSISTANT"}));
    }
    let state = if reply.is_some() {
        "COMPLETED"
    } else {
        "ERRORED"
    };
    json!({
        "taskVersion": {"name": "one"},
        "modelVersion": {"slug": "owner/m@default"},
        "state": format!("BENCHMARK_TASK_RUN_STATE_{state}"),
        "startTime": "2026-11-01T00:00:01Z",
        "errorMessage": "the proxy gave up",
        "conversations": [{"requests": [{"contents": contents, "metrics": {
            "inputTokens": 60, "outputTokens": 8, "inputTokensCostNanodollars": "12000", "outputTokensCostNanodollars": "10000",
        }}]}],
        "results": [result],
    })
}

#[test]
fn run_files_come_back_whole_whatever_the_format_leaves_out() {
    let folder = Folder::new();
    let prompts = folder
        .wheel("show --task classic --item everest-height --condition low")
        .expect(0)
        .out;
    let prompt = prompts
        .split("--- user\n")
        .nth(1)
        .unwrap()
        .split("\n---")
        .next()
        .unwrap()
        .trim()
        .to_owned();
    let named = json!({"type": "AGGREGATED", "dictResult": {"qid": "everest-height", "task": "classic", "condition": "high", "anchor": 22000.0, "repeat": 1.0, "reply": ""}});
    let plain = json!({"type": "AGGREGATED", "booleanResult": true});
    let inner = [
        one("something else entirely", Some(""), &named),
        one(&prompt, Some("less\nESTIMATE: 8849"), &plain),
        one(&prompt, None, &plain),
        one("a prompt of nobody's", Some("hm"), &plain),
    ];
    // A value of exactly 0 is left out by the format, with its radius or without.
    let zero = run_file(&json!({"confidenceInterval": 0.13}), &inner);
    folder.write("tree/classic/1/m/7/x.run.json", &zero.to_string());
    folder.write(
        "tree/classic/1/m/8/y.run.json",
        &run_file(&json!({}), &[]).to_string(),
    );
    folder.write("tree/classic/1/m/8/y.result.json", "not a run");
    let file = std::fs::File::create(folder.path().join("down.zip")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    archive
        .start_file("deep/x.run.json", zip::write::SimpleFileOptions::default())
        .unwrap();
    archive.write_all(zero.to_string().as_bytes()).unwrap();
    archive.finish().unwrap();
    folder
        .wheel("import kaggle tree down.zip")
        .expect(3)
        .says(&[
            "states 0 ± 0.13",
            "y.run.json: anchoring classic, owner/m states 0\n",
            "left out 1: neither names nor the prompt say",
            "added 3, already there 0, left out 1",
        ]);
    let lines = folder.lines("owner%2Fm", "classic");
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["status"], "empty");
    assert_eq!(lines[0]["condition"], "high");
    assert_eq!(
        lines[0]["conversation"][0]["content"],
        "something else entirely"
    );
    assert_eq!(lines[1]["text"], "less\nESTIMATE: 8849");
    assert_eq!(lines[1]["cost_usd"]["reported"], 0.000_022);
    assert_eq!(lines[1]["tokens"]["output"], 8);
    assert_eq!(lines[1]["epoch"], 1);
    assert_eq!(lines[2]["status"], "error");
    assert_eq!(lines[2]["error"]["message"], "the proxy gave up");
    folder
        .wheel("import kaggle down.zip")
        .expect(3)
        .says(&["added 0, already there 3"]);
    folder.write("x.run.json", "{]");
    folder
        .wheel("import kaggle x.run.json")
        .expect(2)
        .says(&["x.run.json: this is no JSON"]);
    folder
        .wheel("import kaggle nowhere")
        .expect(2)
        .says(&["nowhere"]);
}

#[test]
fn replies_come_from_any_table() {
    let folder = Folder::new();
    folder.write(
        "answers.csv",
        "item,condition,answer,output_tokens\neverest-height,low,\"more\nESTIMATE: 8,849\",12\neverest-height,high,ESTIMATE: 9e3,\neverest-height,sideways,x,\n",
    );
    let words = "import replies answers.csv --model someone --task classic";
    folder.wheel(words).expect(2).says(&[
        "there is no column `reply`",
        "--column reply=NAME",
        "answer",
    ]);
    folder
        .wheel(&format!("{words} --column reply=answer"))
        .expect(2)
        .says(&[
            "answers.csv: line 5",
            "unanchored, low or high, not `sideways`",
        ]);
    let text = folder
        .read("answers.csv")
        .replace("sideways,x", "low,ESTIMATE: 8000");
    folder.write("answers.csv", &text);
    folder
        .wheel(&format!("{words} --column reply=answer"))
        .expect(0)
        .says(&["added 3"]);
    let lines = folder.lines("someone", "classic");
    assert_eq!(lines[0]["tokens"]["output"], 12);
    assert!(lines[1]["tokens"]["output"].is_null());
    assert_eq!(lines[2]["epoch"], 2, "the second reply to one prompt");
    let item = folder.wheel("score --json").expect(0).json()["cells"][0]["by_item"][3].clone();
    assert_eq!(item["item"], "everest-height");
    assert!((item["estimate_low"].as_f64().unwrap() - (8849.0_f64 * 8000.0).sqrt()).abs() < 1e-6);
    // The same file adds nothing; another file adds epochs, and none in a place that is taken.
    folder
        .wheel(&format!("{words} --column reply=answer"))
        .expect(0)
        .says(&["added 0, already there 3"]);
    folder.write(
        "more.csv",
        "item,condition,reply\neverest-height,low,ESTIMATE: 8849\n",
    );
    let more = "import replies more.csv --model someone --task classic";
    folder.wheel(more).expect(0).says(&["added 1"]);
    assert_eq!(folder.lines("someone", "classic")[3]["epoch"], 3);
    folder.write(
        "more.csv",
        "item,condition,epoch,reply\neverest-height,low,1,ESTIMATE: 1\n",
    );
    folder
        .wheel(more)
        .expect(3)
        .says(&["epoch 1 of its question and condition is taken"]);
    folder.write(
        "more.csv",
        "item,condition,reply\neverest-height,low,\"unclosed\n",
    );
    folder.wheel(more).expect(2).says(&["never closed"]);
    folder.write(
        "more.csv",
        "item,condition,prompt,reply\neverest-height,low,How high?,9\n",
    );
    folder
        .wheel(more)
        .expect(3)
        .says(&["which anchor was shown"]);
    folder.write(
        "more.csv",
        "item,condition,prompt,anchor,reply\neverest-height,low,How high?,\"5,000\",9\n",
    );
    folder.wheel(more).expect(0);
    assert_eq!(folder.lines("someone", "classic")[4]["anchor"], 5000.0);
    // JSON lines, placed by the prompt alone.
    let shown = folder
        .wheel("show --task ticket --item everest-height --condition high")
        .expect(0)
        .out;
    let prompt = shown.split("--- user\n").nth(1).unwrap().trim().to_owned();
    let line = json!({"model": "other", "prompt": prompt, "reply": "ESTIMATE: 20000"});
    folder.write("log.jsonl", &format!("{line}\n\n"));
    folder
        .wheel("import replies log.jsonl")
        .expect(0)
        .says(&["added 1,"]);
    assert_eq!(folder.lines("other", "ticket")[0]["condition"], "high");
    folder.write("bad.jsonl", "{\"reply\": \"x\", \"model\": \"m\"}\nnope\n");
    folder
        .wheel("import replies bad.jsonl")
        .expect(2)
        .says(&["bad.jsonl: line 2"]);
}
