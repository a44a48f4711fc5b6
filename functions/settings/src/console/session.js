/** The session of the key in use: who it belongs to, and what it reaches. */

let session = null;

/** Remembers the session of a key. */
export function setSession(opened) {
  session = opened;
  return session;
}

/** Returns the name of the key. */
export function getKeyName() {
  return session.user.name;
}

/** Returns the containers that the key reaches, or null if it reaches all. */
export function getReachedContainers() {
  return session.containerTags?.map(({ containerTag }) => containerTag) ?? null;
}

/** Tells whether the key reaches only the content of a container, and no lists of the organization. */
export function isContentKey() {
  return session.scope.type === "scoped";
}

/** Tells whether the key administers the organization. */
export function isAdministrator() {
  return session.scope.type === "full" && session.role === "owner";
}
