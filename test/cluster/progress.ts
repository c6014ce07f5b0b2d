/** Prints the name of a step and its duration. */
export type Stage = <T>(name: string, action: () => Promise<T>) => Promise<T>;

export function printStages(print: (line: string) => void): Stage {
  return async (name, action) => {
    const started = Date.now();
    const result = await action();
    print(`${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    return result;
  };
}
