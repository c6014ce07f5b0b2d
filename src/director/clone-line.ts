/**
 * Returns the line that clones a repository of Cloud Foundry into a folder of its name. A killed clone
 * leaves a folder with another name, which the next run of the line removes.
 */
export function cloneLine(repository: string, ...options: readonly string[]): string {
  const draft = `${repository}.partial`;
  const clone = ['git', 'clone', ...options, `https://github.com/cloudfoundry/${repository}`, draft].join(
    ' ',
  );
  return `test -d ${repository} || { rm -rf ${draft}; ${clone}; mv ${draft} ${repository}; }`;
}
