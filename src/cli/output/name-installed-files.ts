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
