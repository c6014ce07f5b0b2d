/** Matches a fenced code block, in which nothing is a link or a heading. */
const block = /(^(`{3,}).*?^\2$)/gmsu;
const link = /\]\(([^)\s]+)\)/gu;

/** Returns the text of a page without its fenced code blocks. */
export const withoutBlocks = (text: string): string => text.replaceAll(block, '');

/** Returns the targets of the links and pictures of a page, in their order. */
export const linksOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(link)].map(([, target = '']) => target);

/** Returns true for a link that leads out of the repository. */
export const isExternal = (target: string): boolean => /^[a-z]+:/u.test(target);

/** Returns the page with another target for each link. */
export function replaceLinks(text: string, replace: (target: string) => string): string {
  // split() also returns what the groups match: after each part outside of a block come the block and its
  // fence.
  const parts = text.split(block);
  return parts
    .map((part, index) => {
      if (index % 3 === 2) return '';
      return index % 3 === 1 ? part : part.replaceAll(link, (_, target: string) => `](${replace(target)})`);
    })
    .join('');
}

/** Returns the text of the first heading of a page. */
export function titleOf(text: string): string | undefined {
  return /^# (.+)$/mu.exec(text)?.[1];
}

/**
 * Returns the anchor that GitHub makes from the text of a heading. The site uses the same, so a link to a
 * heading works in both.
 */
export const headingAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Returns the anchors of a page. A heading whose anchor exists already gets a number, as on GitHub. */
export function anchorsOf(text: string): string[] {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutBlocks(text).matchAll(/^#+ (.+)$/gmu)) {
    const anchor = headingAnchor(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, '$1'));
    let unique = anchor;
    for (let number = 1; anchors.has(unique); number += 1) unique = `${anchor}-${number}`;
    anchors.add(unique);
  }
  return [...anchors];
}
