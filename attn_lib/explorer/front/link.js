// Scenes' states in the page's address, so that they can be sent to somebody: #head_lens={"layer":4}&scale={...}

// In JupyterLab and VS Code the address is not the page's own.
const ownAddress = () => !document.body.dataset.jpThemeLight && !document.body.dataset.vscodeThemeKind;
const states = () => new URLSearchParams(location.hash.slice(1));

// Copy the page's address; null where it leads nobody else to the page, or nothing can be copied.
const isPublic = /^http/.test(location.protocol) && ownAddress();
export const copyAddress = isPublic && navigator.clipboard ? () => navigator.clipboard.writeText(location.href) : null;

// Return the state that the address has for a scene; null if it has none that can be shown.
export function linked(key, canBeShown) {
  const value = states().get(key);
  if (!value || !ownAddress()) return null;
  try {
    const state = JSON.parse(value);
    return canBeShown(state) ? state : null;
  } catch {
    return null; // cut short on its way
  }
}

// Put a scene's state into the address, beside those of others; an empty one is taken out of it.
export function keep(key, state) {
  if (!ownAddress()) return;
  const all = states();
  for (const [other, value] of [...all]) if (!value) all.delete(other); // where on the page it began
  if (Object.keys(state).length) all.set(key, JSON.stringify(state));
  else all.delete(key);
  history.replaceState(null, "", all.size ? `#${all}` : location.pathname + location.search);
}

// An address that is pasted into a page that is open shows what it has, too.
addEventListener("hashchange", () => {
  if (ownAddress() && [...states().values()].some((value) => value.startsWith("{"))) location.reload();
});
