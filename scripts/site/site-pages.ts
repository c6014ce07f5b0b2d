import { existsSync, globSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { isExternal, replaceLinks, titleOf, withoutBlocks } from './markdown.ts';

/** The pages of the site in the repository. The path of a page in the site is its path in the repository. */
const pagePatterns = [
  '*.md',
  'docs/**/*.md',
  '{bench,embedded-cluster,examples,manifests,release,test}/**/README.md',
];

/** Returns the paths of the pages of the site, relative to the root of the repository. */
export const pagePaths = (root: string): string[] => globSync(pagePatterns, { cwd: root }).toSorted();

/**
 * Returns the files from which the site is built, by their paths: all pages, and a page for each other file
 * or folder of the repository to which a page links, because the site has to work without the repository.
 * Throws for a link that leads to nothing.
 */
export function sitePages(root: string): ReadonlyMap<string, string> {
  const documentation = pagePaths(root);
  const sources = new Map(documentation.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  const pages = new Map<string, string>();
  // Pages that links lead to are added to the map while it is read.
  for (const [path, text] of sources) {
    const page = siteFile(root, path);
    const linked = replaceLinks(text, (link) => {
      const target = targetOf(root, path, link);
      if (target === undefined) return link;
      if (!sources.has(target)) sources.set(target, shownPath(root, target));
      const [anchor = ''] = /#.*$/u.exec(link) ?? [];
      return `${relative(dirname(page), siteFile(root, target))}${anchor}`;
    });
    pages.set(
      page,
      extname(page) === '.md' ? `${frontmatter(linked, documentation.includes(path))}${linked}` : linked,
    );
  }
  return pages;
}

/**
 * Returns settings for VitePress: the search finds documentation only, and a list of one heading needs
 * no room.
 */
function frontmatter(text: string, isDocumentation: boolean): string {
  const headings = withoutBlocks(text).match(/^##+ /gmu)?.length ?? 0;
  return `---\nsearch: ${isDocumentation}\naside: ${headings > 1}\n---\n\n`;
}

/**
 * Returns the path in the repository to which a link of a page leads, which is the README.md of a folder if
 * it has one; undefined if the link leads to another site, or to a heading of the same page.
 */
function targetOf(root: string, page: string, link: string): string | undefined {
  if (isExternal(link) || link.startsWith('#')) return undefined;
  const path = join(dirname(page), link.replace(/#.*$/u, '')).replace(/\/$/u, '');
  if (!existsSync(join(root, path))) throw new Error(`${page}: the link ${link} leads to nothing`);
  const readme = join(path, 'README.md');
  return existsSync(join(root, readme)) ? readme : path;
}

/**
 * Returns the path of a page in the site. The index of the documentation is the start page. VitePress takes
 * `index.md` as the page of a folder.
 */
function siteFile(root: string, path: string): string {
  if (path === 'docs/README.md') return 'index.md';
  if (extname(path) === '.svg') return path;
  if (extname(path) === '.md') return path.replace(/\/README\.md$/u, '/index.md');
  return statSync(join(root, path)).isDirectory() ? `${path}/index.md` : `${path}.md`;
}

/** Returns a picture, or a page that shows a file or lists a folder. The search does not find such pages. */
function shownPath(root: string, path: string): string {
  if (extname(path) === '.svg') return readFileSync(join(root, path), 'utf8');
  const shown = statSync(join(root, path)).isDirectory() ? shownFolder(root, path) : shownFile(root, path);
  return `# ${path}\n\n${shown}\n`;
}

function shownFile(root: string, path: string): string {
  const text = readFileSync(join(root, path), 'utf8');
  return `\`\`\`\`${extname(path).slice(1) || 'text'}\n${text.trimEnd()}\n\`\`\`\``;
}

/** Returns the list of a folder, with links from the folder above it. */
function shownFolder(root: string, path: string): string {
  const entries = readdirSync(join(root, path), { withFileTypes: true });
  const byName = entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const items = byName.map((entry) => {
    const { name } = entry;
    if (!entry.isFile()) return `- \`${name}/\``;
    const title = extname(name) === '.md' ? titleOf(readFileSync(join(root, path, name), 'utf8')) : name;
    return `- [${title}](${basename(path)}/${name})`;
  });
  return items.join('\n');
}
