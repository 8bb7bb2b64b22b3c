//! The site and the report: in a real browser, and against hostile replies.

use fantoccini::{Client, Locator};
use serde_json::Value;

use super::browser::Browser;
use super::support::{Folder, Server, ok};

fn scripted() -> Folder {
    let folder = Folder::new();
    for model in [
        "scripted/known=0,fuzzy=0.3,fermi=0.8",
        "scripted/pull=0.2",
        "scripted/pull=-0.4",
    ] {
        folder
            .wheel(&format!(
                "run --quiet --task classic --task baseline --model {model}"
            ))
            .expect(0);
    }
    folder.wheel("leaderboard --html site").expect(0);
    folder
}

async fn texts(client: &Client, css: &str) -> Vec<String> {
    let mut found = Vec::new();
    for element in client.find_all(Locator::Css(css)).await.unwrap() {
        if element.is_displayed().await.unwrap() {
            found.push(element.text().await.unwrap());
        }
    }
    found
}

/// What the browser complained about: nothing may be loaded or blocked.
async fn complaints(client: &Client) -> Vec<Value> {
    let script = "return performance.getEntriesByType('resource').map(entry => entry.name)";
    let loaded = client.execute(script, Vec::new()).await.unwrap();
    loaded.as_array().unwrap().clone()
}

#[test]
fn a_reader_sorts_filters_and_follows_a_point_to_its_reply() {
    let folder = scripted();
    let Some(browser) = Browser::start() else {
        return;
    };
    let index = format!("file://{}", folder.path().join("site/index.html").display());
    browser.run(async |client| {
        client.goto(&index).await.unwrap();
        assert!(complaints(client).await.is_empty());
        let rows = "#board tbody th";
        let names = texts(client, rows).await;
        assert_eq!(names.len(), 3);
        // By the index of the classic task, up and down.
        let head = client
            .find(Locator::XPath(
                "//table[@id='board']//button[text()='Classic']",
            ))
            .await
            .unwrap();
        head.click().await.unwrap();
        let by_index = [
            "scripted/pull=-0.4",
            "scripted/pull=0.2",
            "scripted/known=0,fuzzy=0.3,fermi=0.8",
        ];
        assert_eq!(texts(client, rows).await, by_index);
        let sorted = client
            .find(Locator::Css("#board th[aria-sort]"))
            .await
            .unwrap();
        assert_eq!(
            sorted.attr("aria-sort").await.unwrap().as_deref(),
            Some("ascending")
        );
        head.click().await.unwrap();
        let mut down = by_index;
        down.reverse();
        assert_eq!(texts(client, rows).await, down);
        // The filter hides rows of the table and of the plots.
        let filter = client.find(Locator::Id("filter")).await.unwrap();
        filter.send_keys("pull=0.2").await.unwrap();
        assert_eq!(texts(client, rows).await, ["scripted/pull=0.2"]);
        assert_eq!(
            texts(client, "svg g[data-row] a title").await.len(),
            0,
            "titles are no text"
        );
        let count = client.find(Locator::Id("count")).await.unwrap();
        assert_eq!(count.text().await.unwrap(), "1 of 3 shown");
        // From the row to the model, from a question's estimate to the prompt and the raw reply.
        client
            .find(Locator::Css("#board tbody tr:not([hidden]) th a"))
            .await
            .unwrap()
            .click()
            .await
            .unwrap();
        assert!(
            client
                .title()
                .await
                .unwrap()
                .starts_with("scripted/pull=0.2")
        );
        let estimate = Locator::XPath("//tr[th[contains(., 'Mount Everest')]]//td/a");
        client.find(estimate).await.unwrap().click().await.unwrap();
        let shown = texts(client, "article:target").await.join("\n");
        assert!(
            shown.contains("the height of Mount Everest · low 3,500"),
            "{shown}"
        );
        assert!(
            shown.contains("Is the height of Mount Everest more or less than 3,500 meters?"),
            "{shown}"
        );
        assert!(
            shown.contains("ESTIMATE: 7") && shown.contains("read as 7,"),
            "{shown}"
        );
        // A point of the forest plot is a link of its own.
        client.goto(&index).await.unwrap();
        let point = client
            .find(Locator::Css("svg g[data-row] a"))
            .await
            .unwrap();
        let href = point.attr("href").await.unwrap().unwrap();
        assert!(href.starts_with("cell-scripted-known"), "{href}");
        assert!(complaints(client).await.is_empty());
    });
}

#[test]
fn a_phone_sees_the_page_without_scrolling_sideways() {
    let folder = scripted();
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.run(async |client| {
        for page in std::fs::read_dir(folder.path().join("site")).unwrap() {
            let page = format!("file://{}", page.unwrap().path().display());
            client.goto(&page).await.unwrap();
            client.set_window_size(500, 900).await.unwrap();
            // Wide tables scroll within themselves.
            let script = "return document.documentElement.scrollWidth <= window.innerWidth";
            let fits = client.execute(script, Vec::new()).await.unwrap();
            assert_eq!(fits, true, "{page}");
            // Every input has a label and every plot and table region a name.
            let script = "return [...document.querySelectorAll('input')].every(i => i.labels.length === 1) \
                && [...document.querySelectorAll('svg, [role=region]')].every(e => e.getAttribute('aria-label')) \
                && document.querySelectorAll('main').length === 1 && document.querySelectorAll('h1').length === 1 \
                && document.documentElement.lang === 'en'";
            assert_eq!(client.execute(script, Vec::new()).await.unwrap(), true, "{page}");
        }
    });
}

#[test]
fn no_reply_runs_as_markup() {
    const HOSTILE: &str = "</pre><script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">\n[x](javascript:alert(1)) | a | b |\nESTIMATE: 5 {{ 7 * 7 }} {% raw %} <svg onload=\"document.title='owned'\">";
    let folder = Folder::new();
    let server = Server::new(|_, _| ok(HOSTILE));
    // A model's name is foreign text too.
    let name = server.model() + "<script>document.title='owned'</script>";
    let done = folder
        .command("run --quiet --task classic --limit 3 --model")
        .arg(&name)
        .output()
        .unwrap();
    assert_eq!(
        done.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    folder.wheel("leaderboard --html site").expect(0);
    folder.wheel("leaderboard --out boards").expect(0);
    assert!(!folder.read("boards/wheel.md").contains("<script>"));
    let report = folder
        .command("report --html --out report.html --model")
        .arg(&name)
        .output()
        .unwrap();
    assert_eq!(report.status.code(), Some(0));
    let pages: Vec<_> = std::fs::read_dir(folder.path().join("site"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .chain([folder.path().join("report.html")])
        .collect();
    assert_eq!(pages.len(), 4);
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        assert_eq!(text.matches("<script").count(), 1, "{}", page.display());
        assert!(
            !text.contains("<img") && !text.contains("onload=\"") && !text.contains("<svg onload")
        );
    }
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.run(async |client| {
        for page in &pages {
            client
                .goto(&format!("file://{}", page.display()))
                .await
                .unwrap();
            assert_ne!(client.title().await.unwrap(), "owned", "{}", page.display());
        }
        // The reply stands there as it came.
        let cell = pages
            .iter()
            .find(|page| page.display().to_string().contains("/cell-"))
            .unwrap();
        client
            .goto(&format!("file://{}", cell.display()))
            .await
            .unwrap();
        let reply = client.find(Locator::Css("pre.reply")).await.unwrap();
        let text = reply.prop("textContent").await.unwrap().unwrap();
        assert_eq!(text, HOSTILE);
    });
}

#[test]
fn a_report_says_in_words_where_a_model_is_pulled() {
    let folder = scripted();
    let report = folder
        .wheel("report --model scripted/known=0,fuzzy=0.3,fermi=0.8")
        .expect(0)
        .out;
    insta::assert_snapshot!("report", report);
    folder
        .wheel("report --model scripted/pull=-0.4")
        .expect(0)
        .prints(&[
            "### Backlash: moved away from the anchor\n\n- the ",
            "after 3,500; ",
            "(index -0.40)",
        ]);
    // A selection shows less and changes nothing.
    folder
        .wheel("report --model scripted/pull=0.2 --task classic")
        .expect(0)
        .prints(&["20 of 20 known and half-known facts", "| Classic |"]);
    folder
        .wheel("report --model nobody")
        .expect(2)
        .says(&["nobody"]);
}
