//! Models: entries, names without an entry, and keys that stay where they belong.

use std::time::Duration;

use super::support::{Folder, Server};

#[test]
fn a_model_is_six_lines_and_names_need_no_entry() {
    let server = Server::steady("less\nESTIMATE: 100", Duration::ZERO);
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &format!(
            "providers:\n  - name: ollama\n    dialect: openai_chat\n    base_url: {}/v1\nmodels:\n  - name: mine\n    label: My model\n    provider: openai_compatible\n    model: my-model\n    base_url: {}/v1\n    temperature: 0\n",
            server.mock.uri(),
            server.mock.uri()
        ),
    );
    let cell = "--task baseline --item everest-height --quiet";
    folder.wheel(&format!("run --model mine {cell}")).expect(0);
    folder
        .wheel(&format!("run --model ollama/qwen3:8b {cell}"))
        .expect(0);
    folder
        .wheel(&format!("run --model {} {cell}", server.model()))
        .expect(0);
    let ids: Vec<String> = server
        .bodies()
        .iter()
        .map(|body| body["model"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["my-model", "qwen3:8b", "m"]);
    assert!(folder.wheel("models").expect(0).out.contains("My model"));
    assert_eq!(folder.lines("ollama%2Fqwen3%3A8b", "baseline").len(), 1);
}

#[test]
fn the_thirteen_models_of_the_post_are_there_with_dated_prices() {
    let registry =
        wheel::model::load(&[("built in".into(), wheel::model::built_in().into())]).unwrap();
    for name in [
        "claude-haiku-4-5",
        "claude-opus-5",
        "claude-sonnet-5",
        "gemini-3.1-flash-lite",
        "gemini-3.1-pro",
        "gemini-3.8-flash",
        "gemma-4-31b",
        "gpt-5.4-nano",
        "gpt-5.5",
        "qwen3-next-80b-a3b-instruct",
        "qwen3-next-80b-a3b-thinking",
        "grok-4.20-0309-non-reasoning",
        "grok-4.20-0309-reasoning",
    ] {
        let model = registry.model(name).unwrap();
        let price = model.price.as_ref().unwrap();
        assert!(!price.is_zero() && !price.source.is_empty() && price.as_of.starts_with("2026"));
        assert!(model.provider.api_key_env.is_some(), "{name}");
    }
    assert!(
        registry
            .model(wheel::model::DEFAULT_MODEL)
            .unwrap()
            .price
            .as_ref()
            .unwrap()
            .is_zero()
    );
}

#[test]
fn a_missing_key_is_one_line_before_any_call() {
    let folder = Folder::new();
    let run = folder
        .wheel("run --model gpt-5.4-nano --model scripted/pull=0 --task classic")
        .expect(2);
    assert_eq!(
        run.err.trim(),
        "error: model `gpt-5.4-nano` needs a key: set the environment variable OPENAI_API_KEY"
    );
    assert!(
        !folder.path().join("runs").exists(),
        "nothing was asked or written"
    );
}

#[test]
fn a_pasted_key_is_refused_and_never_shown() {
    let key = "sk-proj-Abc123Def456Ghi789";
    let folder = Folder::new();
    for line in [
        format!("    api_key: {key}"),
        format!("    api_key_env: {key}"),
        format!("    model: {key}"),
        format!("    base_url: https://user:{key}@example.com/v1"),
    ] {
        folder.write(
            "models.yaml",
            &format!("models:\n  - name: bad\n    provider: openai\n    label: x\n{line}\n"),
        );
        let run = folder.wheel("models").expect(2).says(&[
            "models.yaml:5:",
            "a key seems to be pasted here",
            "help:",
        ]);
        assert!(
            !run.err.contains(key) && !run.out.contains(key),
            "{}",
            run.err
        );
    }
    // A key of a form that nobody knows, in a field that does not exist: the line is not shown either.
    folder.write(
        "models.yaml",
        "models:\n  - name: bad\n    provider: openai\n    model: x\n    api_key: hunter2\n",
    );
    let run = folder
        .wheel("models")
        .expect(2)
        .says(&["api_key", "there is no such field"]);
    assert!(!run.err.contains("hunter2"), "{}", run.err);
}

#[test]
fn a_slip_in_a_name_finds_the_nearest() {
    let folder = Folder::new();
    folder
        .wheel("run --model gpt-5.4-nnao")
        .expect(2)
        .says(&["did you mean gpt-5.4-nano?"]);
    folder
        .wheel("run --model http://localhost:8000/v1")
        .expect(2)
        .says(&["names no model"]);
    folder
        .wheel("run --model ./missing.gguf --task baseline --quiet")
        .expect(2)
        .says(&["missing.gguf"]);
}

#[test]
fn a_changed_provider_reaches_the_built_in_models() {
    let server = Server::steady("ESTIMATE: 8849", Duration::ZERO);
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &format!(
            "providers:\n  - name: openai\n    dialect: openai_chat\n    base_url: {}/v1\n",
            server.mock.uri()
        ),
    );
    folder
        .wheel("run --model gpt-5.4-nano --task baseline --item everest-height --quiet")
        .expect(0);
    assert_eq!(server.asked.total(), 1);
}

#[test]
fn a_time_limit_beyond_a_day_is_refused() {
    let folder = Folder::new();
    folder
        .wheel("run --timeout 1e20")
        .expect(2)
        .says(&["at most 86400"]);
    folder.write(
        "models.yaml",
        "models:\n  - name: m\n    provider: openai\n    model: m\n    timeout_s: 1e20\n",
    );
    folder
        .wheel("models")
        .expect(2)
        .says(&["models.yaml:5:16: timeout_s", "at most 86400"]);
}
