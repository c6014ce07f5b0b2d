import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { headingAnchor } from '../../scripts/site/markdown.ts';
import { navigationOf } from '../../scripts/site/navigation.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const index = readFileSync(join(root, 'site/pages/index.md'), 'utf8');

/** Gives indented code blocks the look of fenced ones, which scroll if they are too wide. */
function indentedBlocks(md) {
  md.renderer.rules.code_block = (tokens, at, ...rest) => {
    tokens[at].info = 'text';
    return md.renderer.rules.fence(tokens, at, ...rest);
  };
}

const icon =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='3' fill='#3b82f6'/></svg>";

export default {
  title: 'BOSH on Kubernetes',
  description: 'A BOSH CPI for Kubernetes, a deployer, an agent, and an embedded cluster to try them',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: 'pages',
  outDir: 'dist',
  // scripts/site/broken-links.ts checks all links, also those that VitePress does not know.
  ignoreDeadLinks: true,
  markdown: {
    // The pages are Markdown without HTML, so `<cid>` is text.
    html: false,
    anchor: { slugify: headingAnchor },
    config: indentedBlocks,
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: navigationOf(index).map((section) => ({
      ...section,
      items: section.items.map(({ text, link }) => ({
        text,
        link: join('/', link.replace(/(?:index)?\.md$/u, '')),
      })),
    })),
  },
};
