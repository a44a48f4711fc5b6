//! Paths of headings, which sections share.

use std::rc::Rc;

/// The longest heading that is kept in a path, in characters.
pub(super) const MAX_HEADING_CHARS: usize = 200;
/// The most bytes of all titles of a path, which every chunk below them repeats. Any one heading fits.
const MAX_PATH_BYTES: usize = 4 * MAX_HEADING_CHARS;

/// The headings above a part of a text. Cheap to clone: paths share their outer headings.
#[derive(Clone, Default)]
pub(crate) struct HeadingPath {
    innermost: Option<Rc<Heading>>,
}

struct Heading {
    title: String,
    outer: HeadingPath,
}

impl HeadingPath {
    /// Returns the path with another heading inside, cut to [`MAX_HEADING_CHARS`]. A blank heading
    /// adds nothing.
    pub(super) fn with_inner(&self, title: &str) -> Self {
        if title.is_empty() {
            return self.clone();
        }
        let heading = Heading {
            title: title.chars().take(MAX_HEADING_CHARS).collect(),
            outer: self.clone(),
        };

        Self {
            innermost: Some(Rc::new(heading)),
        }
    }

    /// Returns the titles, outermost first. Outer ones that exceed [`MAX_PATH_BYTES`] are left out.
    pub(super) fn titles(&self) -> Vec<String> {
        let mut titles = Vec::new();
        let mut remaining = MAX_PATH_BYTES;
        for heading in self.headings() {
            if heading.title.len() > remaining {
                break;
            }
            remaining -= heading.title.len();
            titles.push(heading.title.clone());
        }

        titles.reverse();
        titles
    }

    /// Returns the part that two paths have in common.
    pub(super) fn shared_with(&self, other: &Self) -> Self {
        let (mut ours, mut others): (Vec<_>, Vec<_>) =
            (self.headings().collect(), other.headings().collect());
        ours.reverse();
        others.reverse();
        let pairs = ours.iter().zip(&others);
        let shared = pairs.take_while(|(our, other)| our.title == other.title);
        let innermost = shared.last().map(|(our, _)| Rc::clone(our));

        Self { innermost }
    }

    /// Returns the headings, innermost first.
    fn headings(&self) -> impl Iterator<Item = &Rc<Heading>> {
        std::iter::successors(self.innermost.as_ref(), |heading| {
            heading.outer.innermost.as_ref()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(titles: &[&str]) -> HeadingPath {
        let mut path = HeadingPath::default();
        for title in titles {
            path = path.with_inner(title);
        }

        path
    }

    #[test]
    fn a_path_lists_its_titles_from_the_outermost() {
        assert_eq!(
            path(&["Guide", "", "Install"]).titles(),
            ["Guide", "Install"]
        );
    }

    #[test]
    fn a_long_path_keeps_its_inner_headings() {
        let [outer, middle, inner] = ["ж".repeat(200), "б".repeat(200), "🌊".repeat(200)];
        assert_eq!(path(&[&outer, &middle]).titles(), [&*outer, &middle]);
        assert_eq!(path(&[&outer, &middle, "End"]).titles(), [&middle, "End"]);
        assert_eq!(path(&[&outer, &middle, &inner]).titles(), [inner]);
    }

    #[test]
    fn paths_share_their_outer_headings() {
        let shared = path(&["A", "B", "C"]).shared_with(&path(&["A", "B", "D", "C"]));
        assert_eq!(shared.titles(), ["A", "B"]);
        assert!(path(&["A"]).shared_with(&path(&["B"])).titles().is_empty());
    }
}
