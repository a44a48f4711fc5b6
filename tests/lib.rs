//! Nothing but tests: see the folders beside this file.
