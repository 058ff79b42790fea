// A description of a page, and how the page is made to match it.

export const SVG = "http://www.w3.org/2000/svg";
const HTML = "http://www.w3.org/1999/xhtml";

// Describe an element. Children may be nested lists; null and false are left out.
export const h = (tag, props, ...children) => ({
  tag,
  props: props ?? {},
  children: children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "object" ? child : String(child))),
});

// Make the children of an element what is wanted. What can stay stays, and keeps its focus.
export function patch(parent, wanted) {
  wanted.forEach((want, i) => {
    let node = parent.childNodes[i];
    if (typeof want === "string") {
      if (node?.nodeType !== Node.TEXT_NODE) put(parent, document.createTextNode(want), node);
      else if (node.data !== want) node.data = want;
      return;
    }
    if (node?.localName !== want.tag) {
      const inside = want.tag === "svg" || parent.namespaceURI === SVG;
      node = put(parent, document.createElementNS(inside ? SVG : HTML, want.tag), node);
      node.given = {};
    }
    patch(node, want.children);
    for (const name of Object.keys({ ...node.given, ...want.props })) {
      if (name === "value" || name === "checked" || node.given[name] !== want.props[name])
        give(node, name, want.props[name]);
    }
    node.given = want.props;
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}

function put(parent, fresh, old) {
  old ? parent.replaceChild(fresh, old) : parent.append(fresh);
  return fresh;
}

function give(node, name, value) {
  if (name.startsWith("on") || name === "value" || name === "checked") {
    if (node[name] !== value) node[name] = value ?? null;
  } else if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}
