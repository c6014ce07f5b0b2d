import { withoutBlocks } from './markdown.ts';

/** A section of the navigation, or a page in it. */
export interface NavigationSection {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/**
 * Returns the navigation that the index of the documentation describes: a section for each of its headings,
 * with the first link of each table row and list item below it.
 */
export function navigationOf(index: string): NavigationSection[] {
  const [, ...sections] = withoutBlocks(index).split(/^## /mu);
  return sections.map((section) => {
    const [text = ''] = section.split('\n', 1);
    const links = section.matchAll(/^(?:\| *|- +)\[([^\]]+)\]\(([^)\s#]+)\)/gmu);
    return { text, items: [...links].map(([, name = '', link = '']) => ({ text: name, link })) };
  });
}
