/**
 * How an operator runs a command in a VM of the cluster that a kubeconfig names, for a shell. Without one,
 * since only the CPI knows cluster and namespace, by the operator's own, with NAMESPACE to be filled in.
 */
export function commandInVm(kubeconfig?: string): (vmCid: string, words: readonly string[]) => string {
  const where = kubeconfig === undefined ? ['-n', 'NAMESPACE'] : ['--kubeconfig', kubeconfig];
  return (vmCid, words) => ['kubectl', ...where, 'exec', vmCid, '--', ...words].map(shellCommand).join(' ');
}

const shellCommand = (word: string): string =>
  /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
