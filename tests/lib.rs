//! An empty library: the tests are in the folders beside this file.
