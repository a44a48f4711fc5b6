//! The examples at the end of each help.

pub(super) const ADD_EXAMPLES: &str = "\
Examples:
  recollect add notes/                          add a folder with everything below it
  recollect add report.pdf https://example.com/page
  recollect add --text \"I live in Lisbon.\" --own-words --tag ada
  pbpaste | recollect add - --tag ideas         add what a program prints
  recollect add papers/ --tag papers -m year=2025 -m reviewed=true

Exit codes: 0 all added, 1 nothing added, 2 wrong usage, 3 some failed, 4 no files found";

pub(super) const SEARCH_EXAMPLES: &str = "\
Examples:
  recollect search deposit for a sailing boat
  recollect search --tag ada --mode memories tea
  recollect search --json -n 3 deposit | jq -r '.results[] | .memory // .chunk'

Exit codes: 0 found, 1 failure, 2 wrong usage, 4 nothing found";

pub(super) const ASK_EXAMPLES: &str = "\
Examples:
  recollect ask How much is the deposit for a sailing boat?
  recollect ask --tag ada \"What does Ada's sister eat?\"

Exit codes: 0 found, 1 failure, 2 wrong usage, 4 nothing found";

pub(super) const PROFILE_EXAMPLES: &str = "\
Examples:
  recollect profile --tag ada
  recollect profile --json

Exit codes: 0 found, 1 failure, 2 wrong usage, 4 nothing is known";

pub(super) const LIST_EXAMPLES: &str = "\
Examples:
  recollect list                                the newest documents
  recollect list --status failed                what could not be read, and why
  recollect list --memories --tag ada
  recollect list --containers

Exit codes: 0 found, 1 failure, 2 wrong usage, 4 the list is empty";

pub(super) const SHOW_EXAMPLES: &str = "\
Examples:
  recollect show acxV5LHMEsG2hMSNb4umbn
  recollect show acxV5LHMEsG2hMSNb4umbn --full | less

Exit codes: 0 found, 1 failure, 2 wrong usage, 4 no such document";

pub(super) const FORGET_EXAMPLES: &str = "\
Examples:
  recollect forget --query \"where I live\" --tag ada
  recollect forget acxV5LHMEsG2hMSNb4umbn --yes
  recollect forget --document acxV5LHMEsG2hMSNb4umbn

Exit codes: 0 forgotten, 1 failure, 2 wrong usage, 3 some failed, 4 nothing to forget";

pub(super) const ERASURE_REPORT_EXAMPLES: &str = "\
Examples:
  recollect erasure-report 7Qm4x2BvNc8sJtKfWyEh3d
  recollect erasure-report 7Qm4x2BvNc8sJtKfWyEh3d --json > report.json
  recollect erasure-report --verify report.json --key-id kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k

Exit codes: 0 shown or verified, 1 failure or a wrong signature, 2 wrong usage, 4 no such deletion";

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  recollect status
  recollect status --profile work --json

Exit codes: 0 it answers, 1 it does not, 2 wrong usage, 3 it answers, but some documents failed";

pub(super) const WATCH_EXAMPLES: &str = "\
Examples:
  recollect watch notes/ --tag notes
  recollect watch notes/ --tag notes --delete

Exit codes: 0 ended by Ctrl-C, 1 failure, 2 wrong usage";

pub(super) const OPEN_EXAMPLES: &str = "\
Examples:
  recollect open
  recollect open --profile work --print";

pub(super) const PROFILES_EXAMPLES: &str = "\
Examples:
  recollect profiles add work --url https://memory.example.com
  recollect profiles add work --url https://memory.example.com < key.txt
  recollect profiles use work
  recollect search --profile work deposit";

pub(in crate::arguments) const COMPLETION_EXAMPLES: &str = "\
Examples:
  recollect completions bash > ~/.local/share/bash-completion/completions/recollect
  recollect completions zsh > ~/.zfunc/_recollect
  recollect completions fish > ~/.config/fish/completions/recollect.fish";

pub(in crate::arguments) const MANUAL_EXAMPLES: &str = "\
Examples:
  recollect manual | man -l -
  recollect manual add > recollect-add.1
  recollect manual keys create | man -l -";
