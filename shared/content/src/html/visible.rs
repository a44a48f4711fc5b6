//! Selection of the elements of a page that are not worth reading.

use dom_query::NodeRef;

/// Elements that a reader does not see, or that are not text.
const INVISIBLE_ELEMENTS: &[&str] = &[
    "head", "title", "script", "style", "template", "noscript", "svg", "canvas", "iframe",
    "object", "embed", "audio", "video", "map", "button", "input", "select", "textarea",
    "datalist", "dialog",
];
/// Elements around the content of a page.
const BOILERPLATE_ELEMENTS: &[&str] = &["nav", "footer", "aside"];
/// Landmarks around the content of a page.
const BOILERPLATE_ROLES: &[&str] = &[
    "navigation",
    "banner",
    "contentinfo",
    "complementary",
    "search",
    "dialog",
    "alert",
    "alertdialog",
];
/// Parts of class names and ids that mark elements around the content on nearly every page.
const BOILERPLATE_NAMES: &[&str] = &[
    "cookie",
    "consent",
    "gdpr",
    "breadcrumb",
    "sidebar",
    "newsletter",
    "share-buttons",
    "social-share",
    "related-posts",
    "skip-link",
    "site-header",
    "site-footer",
    "advert",
    "popup",
    "modal",
];

/// Checks whether the element is invisible to a reader of the page.
pub(super) fn is_invisible(node: &NodeRef, name: &str) -> bool {
    INVISIBLE_ELEMENTS.contains(&name)
        || node.has_attr("hidden")
        || node.attr("aria-hidden").as_deref() == Some("true")
        || node
            .attr("style")
            .is_some_and(|style| style.replace(' ', "").contains("display:none"))
}

/// Checks whether the element is around the content of a page.
pub(super) fn is_boilerplate(node: &NodeRef, name: &str) -> bool {
    if BOILERPLATE_ELEMENTS.contains(&name)
        || node
            .attr("role")
            .is_some_and(|role| BOILERPLATE_ROLES.contains(&&*role))
    {
        return true;
    }

    // The header of the page is excluded, but the header of an article is not.
    if name == "header" {
        let is_sectioning = |outer: NodeRef| {
            matches!(
                outer.node_name().as_deref(),
                Some("main" | "article" | "section")
            )
        };
        return !node.ancestors_it(None).any(is_sectioning);
    }

    // Classes of the outermost elements often describe the page: `has-sidebar`.
    let is_part = !matches!(
        name,
        "html" | "body" | "main" | "article" | "h1" | "h2" | "h3" | "p" | "a" | "li"
    );
    is_part
        && [node.attr("class"), node.attr("id")]
            .into_iter()
            .flatten()
            .any(|names| is_boilerplate_name(&names))
}

fn is_boilerplate_name(names: &str) -> bool {
    let names = names.to_ascii_lowercase();
    names.split_whitespace().any(|name| {
        BOILERPLATE_NAMES.iter().any(|part| name.contains(part))
            && !name.starts_with("has-")
            && !name.contains("with-")
    })
}
