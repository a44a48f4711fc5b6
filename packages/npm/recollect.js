#!/usr/bin/env node
// Starts the program of this platform, which is a package of its own, and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `recollect-${process.platform}-${process.arch}`;

function findProgram() {
  try {
    return require.resolve(`${name}/bin/recollect`);
  } catch {
    console.error(
      `recollect: the package ${name} is not installed. Either there is none for this platform, or optional ` +
        "packages were left out: install again without --omit=optional.",
    );
    process.exit(1);
  }
}

const program = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both processes, so this one waits. Other senders know only this one.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => program.kill(signal));
}
program.on("error", (error) => {
  console.error(`recollect: ${error.message}`);
  process.exit(1);
});
program.on("exit", (code, signal) => {
  process.exit(code ?? 128 + constants.signals[signal]);
});
