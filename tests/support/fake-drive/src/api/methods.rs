//! The methods of the API and their parameters.

/// A method of the API.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) verb: &'static str,
    /// The path below `/drive/v3/`. A part in braces is the id.
    pub(crate) path: &'static str,
    /// The query parameters as `name:type`, with `!` for a required one. The types are `s` for
    /// text, `b` for a boolean, `i` for a number up to the one that follows, and `e` for one of the
    /// values that follow.
    params: &'static str,
    /// The answer's name in the table of schemas.
    pub(crate) response_schema: &'static str,
    /// The cost in quota units.
    pub(crate) units: u64,
}

/// The parameters that every method accepts.
const COMMON_PARAMS: &str = "$.xgafv:e1,2 access_token:s alt:ejson,media,proto callback:s fields:s key:s oauth_token:s \
    prettyPrint:b quotaUser:s uploadType:s upload_protocol:s";

const CHANGES: &str = "driveId:s includeCorpusRemovals:b includeItemsFromAllDrives:b includeLabels:s \
    includePermissionsForView:s includeRemoved:b includeTeamDriveItems:b pageSize:i1000 pageToken:s! \
    restrictToMyDrive:b spaces:s supportsAllDrives:b supportsTeamDrives:b teamDriveId:s";

pub(crate) const METHODS: &[Method] = &[
    find_method("about.get", "GET", "about", "", "About", 5),
    find_method(
        "files.list",
        "GET",
        "files",
        "corpora:s corpus:edomain,user driveId:s includeItemsFromAllDrives:b includeLabels:s \
         includePermissionsForView:s includeTeamDriveItems:b orderBy:s pageSize:i1000 pageToken:s q:s spaces:s \
         supportsAllDrives:b supportsTeamDrives:b teamDriveId:s",
        "FileList",
        100,
    ),
    find_method(
        "files.get",
        "GET",
        "files/{}",
        "acknowledgeAbuse:b includeLabels:s includePermissionsForView:s supportsAllDrives:b supportsTeamDrives:b",
        "File",
        5,
    ),
    find_method(
        "files.export",
        "GET",
        "files/{}/export",
        "mimeType:s!",
        "",
        200,
    ),
    find_method(
        "files.download",
        "POST",
        "files/{}/download",
        "mimeType:s revisionId:s",
        "Operation",
        200,
    ),
    find_method("operations.get", "GET", "operations/{}", "", "Operation", 5),
    find_method(
        "changes.getStartPageToken",
        "GET",
        "changes/startPageToken",
        "driveId:s supportsAllDrives:b supportsTeamDrives:b teamDriveId:s",
        "StartPageToken",
        5,
    ),
    find_method("changes.list", "GET", "changes", CHANGES, "ChangeList", 100),
    find_method(
        "changes.watch",
        "POST",
        "changes/watch",
        CHANGES,
        "Channel",
        5,
    ),
    find_method("channels.stop", "POST", "channels/stop", "", "", 5),
    find_method(
        "drives.list",
        "GET",
        "drives",
        "pageSize:i100 pageToken:s q:s useDomainAdminAccess:b",
        "DriveList",
        100,
    ),
    find_method(
        "drives.get",
        "GET",
        "drives/{}",
        "useDomainAdminAccess:b",
        "Drive",
        5,
    ),
];

const fn find_method(
    name: &'static str,
    verb: &'static str,
    path: &'static str,
    params: &'static str,
    response_schema: &'static str,
    units: u64,
) -> Method {
    Method {
        name,
        verb,
        path,
        params,
        response_schema,
        units,
    }
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamKind {
    Text,
    Bool,
    Number(u32),
    OneOf(&'static str),
}

/// A query parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParamSpec {
    pub(crate) name: &'static str,
    pub(crate) kind: ParamKind,
    pub(crate) required: bool,
}

impl Method {
    /// Iterates over the parameters, the method's own first.
    pub(crate) fn all_params(&self) -> impl Iterator<Item = ParamSpec> {
        self.params
            .split_whitespace()
            .chain(COMMON_PARAMS.split_whitespace())
            .filter_map(parse_param)
    }

    /// Returns the id in a path below `/drive/v3/`, and the empty string for a matching path
    /// without an id; `None` if the path does not match.
    pub(crate) fn match_path<'a>(&self, path: &'a str) -> Option<&'a str> {
        let Some((before, after)) = self.path.split_once("{}") else {
            return (self.path == path).then_some("");
        };
        let id = path.strip_prefix(before)?.strip_suffix(after)?;
        (!id.is_empty() && !id.contains('/')).then_some(id)
    }
}

fn parse_param(text: &'static str) -> Option<ParamSpec> {
    let (name, kind) = text.split_once(':')?;
    let (kind, required) = kind
        .strip_suffix('!')
        .map_or((kind, false), |kind| (kind, true));
    let kind = match kind.split_at_checked(1)? {
        ("b", _) => ParamKind::Bool,
        ("i", max) => ParamKind::Number(max.parse().ok()?),
        ("e", values) => ParamKind::OneOf(values),
        _ => ParamKind::Text,
    };

    Some(ParamSpec {
        name,
        kind,
        required,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_the_tables_is_understood() {
        for method in METHODS {
            let written =
                method.params.split_whitespace().count() + COMMON_PARAMS.split_whitespace().count();
            assert_eq!(method.all_params().count(), written, "{}", method.name);
        }
    }

    #[test]
    fn paths_find_their_methods() {
        for (verb, path, expected) in [
            ("GET", "files/abc", Some(("files.get", "abc"))),
            ("GET", "files/abc/export", Some(("files.export", "abc"))),
            (
                "POST",
                "files/abc/download",
                Some(("files.download", "abc")),
            ),
            (
                "GET",
                "changes/startPageToken",
                Some(("changes.getStartPageToken", "")),
            ),
            ("GET", "files/", None),
            ("DELETE", "files/abc", None),
            ("GET", "files/abc/comments", None),
        ] {
            let of_verb = METHODS.iter().filter(|method| method.verb == verb);
            let mut hits =
                of_verb.filter_map(|method| Some((method.name, method.match_path(path)?)));
            assert_eq!(hits.next(), expected, "{verb} {path}");
            assert_eq!(hits.next(), None, "{verb} {path}");
        }
    }
}
