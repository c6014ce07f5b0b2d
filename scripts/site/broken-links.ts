import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { anchorsOf } from './markdown.ts';

/**
 * Returns a line for each link, script, style and picture of a built site that leads to nothing, for
 * each that a page loads from another machine, and for each heading whose anchor is not the one that it
 * has on a Git server. `pages` are the files from which the site was built.
 */
export function brokenLinks(site: string, pages: ReadonlyMap<string, string>): string[] {
  const paths = globSync('**/*.html', { cwd: site });
  const built = new Map(paths.map((path) => [path, readFileSync(join(site, path), 'utf8')]));
  const ids = new Map([...built].map(([path, html]) => [path, attributes(html, 'id')]));

  const leadsToNothing = (page: string, link: string): boolean => {
    const { origin, pathname, hash } = new URL(link, `${here}/${page}`);
    if (origin !== here) return false;
    const path = decodeURIComponent(pathname).slice(1);
    const file = path === '' || path.endsWith('/') ? `${path}index.html` : path;
    if (!existsSync(join(site, file)) || !statSync(join(site, file)).isFile()) return true;
    return hash !== '' && ids.get(file)?.includes(decodeURIComponent(hash.slice(1))) !== true;
  };
  const links = [...built].flatMap(([page, html]) =>
    [...attributes(html, 'href'), ...attributes(html, 'src')]
      .filter((link) => leadsToNothing(page, link))
      .map((link) => `${page}: ${link} leads to nothing`),
  );
  const loads = [...built].flatMap(([page, html]) =>
    loaded(html)
      .filter((link) => !link.startsWith('data:') && new URL(link, here).origin !== here)
      .map((link) => `${page}: ${link} is loaded from another machine`),
  );
  const headings = [...pages].flatMap(([path, text]) => {
    const page = path.replace(/\.md$/u, '.html');
    return anchorsOf(text)
      .filter((anchor) => ids.get(page)?.includes(anchor) !== true)
      .map((anchor) => `${page}: no heading has the anchor ${anchor}`);
  });
  return [...links, ...loads, ...headings];
}

/** The origin of the site, in a domain that is reserved for examples. */
const here = 'https://site.example';

const attributes = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(`<[a-z][^>]* ${name}="([^"]*)"`, 'gu'))].map(([, value = '']) =>
    unescaped(value),
  );

/** Returns what the browser loads with a page. The target of an `<a>` is not loaded. */
const loaded = (html: string): string[] =>
  [...html.matchAll(/<(?!a )[a-z]+ [^>]*/gu)].flatMap(([tag]) => [
    ...attributes(tag, 'href'),
    ...attributes(tag, 'src'),
  ]);

const unescaped = (value: string): string => value.replaceAll('&amp;', '&').replaceAll('&quot;', '"');
