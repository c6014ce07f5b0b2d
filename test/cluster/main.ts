// npm run test:cluster: a Kubernetes cluster of plain processes, built from its Go modules, and the suites
// that need one.
import { parseCommand } from './command-line.ts';
import { bringUp } from './bring-up.ts';
import { enter } from './enter.ts';
import { clusterNames, layoutOf } from './layout.ts';
import { buildPrograms } from './programs/build-programs.ts';
import { programCache } from './programs/program-cache.ts';
import { clusterAt } from './cluster-at.ts';
import { runProgram, runSuites } from './run-suites.ts';

try {
  const command = parseCommand(process.argv.slice(2));
  switch (command.action) {
    case 'build':
      for (const path of await buildPrograms(programCache(), command.programs, console.error))
        console.log(path);
      break;
    case 'up':
      await bringUp(layoutOf(command.name));
      break;
    case 'down':
      for (const name of clusterNames(command.name)) await clusterAt(layoutOf(name)).down();
      break;
    case 'enter':
      process.exitCode = await enter(clusterAt(layoutOf(command.name)), command.command);
      break;
    case 'run':
      process.exitCode = await runProgram(command.name, command.program);
      break;
    case 'test':
      process.exitCode = await runSuites(command);
  }
} catch (error) {
  console.error(`test:cluster: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
