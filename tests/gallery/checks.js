// What can be told of a page without looking at it, after Lighthouse.

/** Elements that one can act on, and that have no name. */
function nameless() {
  const found = Array.from(document.querySelectorAll("button, select, textarea, input, summary, [tabindex]"));
  const shown = found.filter((each) => each.checkVisibility());
  return shown.filter((each) => !(each.ariaLabel || each.innerText?.trim() || each.labels?.length)).map((each) => each.outerHTML);
}

/** Texts with less contrast than WCAG 2.2 asks for (AA). */
function faint() {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.closest("script, noscript, option, .skip")) continue;
    const style = getComputedStyle(element), below = ground(element);
    const ratio = contrast(over(numbers(style.color), below), below);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) found.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return found;
}

const numbers = (color) => color.match(/[\d.]+/g).map(Number);

const over = ([r, g, b, alpha = 1], below) => [r, g, b].map((each, place) => each * alpha + below[place] * (1 - alpha));

function ground(element) {
  const layers = [];
  for (let each = element; each; each = each.parentElement) layers.unshift(numbers(getComputedStyle(each).backgroundColor));
  return layers.reduce((below, top) => over(top, below), [255, 255, 255]);
}

function contrast(one, other) {
  const [dark, bright] = [one, other].map(light).sort((first, second) => first - second);
  return (bright + 0.05) / (dark + 0.05);
}

function light(color) {
  const [r, g, b] = color.map((each) => each / 255).map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
