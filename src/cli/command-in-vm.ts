/** How an operator runs a command in a VM of the cluster that a kubeconfig names, for a shell. */
export function commandInVm(kubeconfig: string): (vmCid: string, words: readonly string[]) => string {
  return (vmCid, words) =>
    ['kubectl', '--kubeconfig', kubeconfig, 'exec', vmCid, '--', ...words].map(inShell).join(' ');
}

const inShell = (word: string): string =>
  /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
