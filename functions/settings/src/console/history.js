/**
 * What was believed at a time. The API has the versions of each memory; this module chooses among them.
 *
 * There are two times: that at which a version was recorded, and that at which it was said, which is the date of its
 * document.
 */

/**
 * Returns each memory with its versions, the oldest first. `dates` has the times at which older versions were said, by
 * their ids; without one, the time of recording stands for it.
 */
export function buildChains(entries, dates = new Map()) {
  return entries.map((entry) => {
    const older = [...entry.history]
      .reverse()
      .map((version) => createVersion(version, dates.get(version.id)));
    const versions = [...older, createVersion(entry, entry.temporalContext.documentDate)];
    return { entry, versions, forgottenAt: entry.isForgotten ? entry.updatedAt : null };
  });
}

/** Returns all times at which something changed, the oldest first. `clock` is "recorded" or "said". */
export function listTimes(chains, clock) {
  const times = chains.flatMap(({ versions, forgottenAt }) => [
    ...versions.map((version) => version[clock]),
    clock === "recorded" ? forgottenAt : null,
  ]);
  return [...new Set(times.filter(Boolean))].sort();
}

/** Returns the version of a memory that was known at a time, or nothing if there was none. */
export function findVersion(chain, clock, time) {
  if (time === null) {
    return chain.versions.at(-1);
  }
  return chain.versions.findLast((version) => version[clock] <= time);
}

/** Tells whether a memory was forgotten at a time. */
export function isForgottenAt(chain, clock, time) {
  if (!chain.entry.isForgotten) {
    return false;
  }
  return time === null || clock === "said" || chain.forgottenAt <= time;
}

function createVersion(source, said) {
  return {
    id: source.id,
    memory: source.memory,
    version: source.version,
    trust: source.trust,
    recorded: source.createdAt,
    said: said ?? source.createdAt,
  };
}
