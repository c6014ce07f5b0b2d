import { ProductError } from '../../errors/product-error.ts';
import type { JobStarter } from '../job-start.ts';
import { runScripts } from '../script/run-scripts.ts';
import type { RunScriptsPorts } from '../script/run-scripts.ts';
import { isObject } from '../settings/json.ts';
import type { SpecFile } from '../spec/spec-file.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';

export interface RunScriptOptions extends RunScriptsPorts {
  readonly specFile: SpecFile;
  readonly jobStart: JobStarter;
}

// The names that a director and create-env use. Any other name could lead to a file outside `bin`.
const scripts = new Set(['pre-start', 'post-start', 'pre-stop', 'post-stop', 'post-deploy']);
const needsStore = new Set(['pre-start', 'post-start']);

/** `run_script [name, {env}]` -> `{}` when the script has succeeded for every job that has it. */
export function runScript(options: RunScriptOptions): Action {
  return {
    mode: 'asynchronous',
    async run(list, signal) {
      const name = stringArg(list, 0, 'script name');
      if (!scripts.has(name)) {
        throw new ProductError(
          'AGENT_ARGUMENT_INVALID',
          `there is no script '${name}': it is one of ${[...scripts].join(', ')}`,
        );
      }
      const environment = parseEnv(list[1]);
      if (needsStore.has(name)) await options.jobStart.assertDisksMounted();
      const jobs = (await options.specFile.read()).jobs.map((job) => job.name);
      await runScripts(options, { name, jobs, environment }, signal);
      return {};
    },
  };
}

function parseEnv(argument: unknown): Readonly<Record<string, string>> {
  const env = isObject(argument) ? argument['env'] : undefined;
  if (!isObject(env)) return {};
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => {
      if (typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return [name, value];
      throw new ProductError('AGENT_ARGUMENT_INVALID', `env.${name} is not a text with a variable's name`);
    }),
  );
}
