import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '../../platform/shell-word.ts';

/**
 * Returns the text with the absolute paths of the manifests and pages that it names. The working directory of
 * a user of the npm package does not contain them.
 */
export function nameInstalledFiles(text: string, root: string): string {
  return text.replaceAll(/(?<![\w./-])(?:docs|manifests)\/[\w-]+(?:[./][\w-]+)*/gu, (path) =>
    shellWord(join(root, path)),
  );
}

/**
 * Returns a help text or an error with the absolute paths of our pages that it names. It may also name files
 * of the operator, so only a page that exists in `root` is replaced.
 */
export function nameInstalledPages(text: string, root: string): string {
  return text.replaceAll(/(?<![\w./-])docs\/[\w/-]+\.md/gu, (page) =>
    existsSync(join(root, page)) ? shellWord(join(root, page)) : page,
  );
}
