//! The results of a search, as people read them.

use serde_json::Value;

use super::output::{Output, clean_text, one_line};

/// A result of a search: a memory, or a passage of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchHit {
    pub(super) text: String,
    pub(super) similarity: f64,
    pub(super) is_memory: bool,
    /// The id of the memory or of the passage.
    pub(super) id: String,
    /// The title of the document.
    pub(super) title: String,
    /// The path or the name of the source, if it says more than the title.
    pub(super) source: Option<String>,
}

impl SearchHit {
    /// Reads a result of `POST /v4/search`. Returns `None` if it has no text.
    fn parse(result: &Value) -> Option<Self> {
        let memory = result["memory"].as_str();
        let text = memory.or(result["chunk"].as_str())?;
        let document = &result["documents"][0];
        let path = result["filepath"].as_str();
        let origin = result["origin"]["name"].as_str();
        let title = document["title"].as_str().or(path).or(origin);
        let title = one_line(title.unwrap_or("untitled text"));
        let source = path.or(origin).map(one_line);
        // A file without a title of its own is called by its name, which the path has as well.
        let (title, source) = match source {
            Some(source) if source.rsplit('/').next() == Some(&title) => (source, None),
            source => (title, source),
        };

        Some(Self {
            text: clean_text(text),
            similarity: result["similarity"].as_f64().unwrap_or_default(),
            is_memory: memory.is_some(),
            id: one_line(result["id"].as_str().unwrap_or_default()),
            title,
            source,
        })
    }

    /// Reads the results of a search.
    pub(super) fn parse_all(answer: &Value) -> Vec<Self> {
        let results = answer["results"].as_array().into_iter().flatten();
        results.filter_map(Self::parse).collect()
    }

    /// Returns the title with the source behind it, as in `Rental terms (docs/rental.pdf)`.
    pub(super) fn titled_source(&self, output: &Output) -> String {
        let title = output.bold(&self.title);
        match &self.source {
            Some(source) => format!("{title} {}", output.dim(&format!("({source})"))),
            None => title,
        }
    }

    /// Returns the text in at most `max_lines` lines, each after `indent`.
    pub(super) fn quote(&self, output: &Output, indent: &str, max_lines: usize) -> String {
        let lines = output.wrap(&self.text, indent.len());
        let mut lines = lines.iter().filter(|line| !line.is_empty());
        let mut text = String::new();
        for line in lines.by_ref().take(max_lines) {
            text += &format!("{indent}{line}\n");
        }
        if lines.next().is_some() {
            text += &format!("{indent}{}\n", output.dim("…"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_a_memory_or_a_passage_with_its_source() {
        let answer = json!({"results": [
            {"id": "m1", "memory": "Ada likes tea.", "similarity": 0.75, "filepath": "notes/a.md",
             "documents": [{"title": "Notes"}]},
            {"id": "d1-0", "chunk": "One.\n\nTwo.\nThree.", "similarity": 0.5, "filepath": "b.md", "documents": []},
            {"id": "d1-1", "similarity": 0.25},
            {"id": "d2-0", "chunk": "x", "filepath": "n/c.md", "documents": [{"title": "c.md"}]},
        ]});
        let hits = SearchHit::parse_all(&answer);
        assert_eq!(hits.len(), 3);
        assert!(hits[0].is_memory && !hits[1].is_memory);
        let output = Output::plain(Some(40));
        assert_eq!(hits[0].titled_source(&output), "Notes (notes/a.md)");
        assert_eq!(hits[1].titled_source(&output), "b.md");
        assert_eq!(hits[2].titled_source(&output), "n/c.md");
        assert_eq!(hits[1].quote(&output, "  ", 2), "  One.\n  Two.\n  …\n");
        assert_eq!(hits[1].quote(&output, "", 3), "One.\nTwo.\nThree.\n");
    }
}
