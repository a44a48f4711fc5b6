#!/usr/bin/env node
// Starts the program of this platform, which is a package of its own, and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `recollect-${process.platform}-${process.arch}`;

/** Checks whether this is a Linux without glibc, such as Alpine. The report takes some milliseconds. */
function lacksGlibc() {
  if (process.platform !== "linux") return false;
  process.report.excludeNetwork = true;
  return !process.report.getReport().header.glibcVersionRuntime;
}

/** Ends with the reason why the program did not start. */
function fail(reason) {
  const musl = "this system uses musl, like Alpine, and the program needs glibc 2.17: use the container image";
  console.error(`recollect: ${lacksGlibc() ? musl : reason}`);
  process.exit(1);
}

function findProgram() {
  try {
    return require.resolve(`${name}/bin/recollect`);
  } catch {
    return fail(
      `the package ${name} is not installed. Either there is none for this platform, or optional ` +
        "packages were left out: install again without --omit=optional.",
    );
  }
}

const program = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both processes, so this one waits. Other senders know only this one.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => program.kill(signal));
}
program.on("error", (error) => fail(error.message));
program.on("exit", (code, signal) => {
  process.exit(code ?? 128 + constants.signals[signal]);
});
