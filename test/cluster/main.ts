// npm run test:cluster: a Kubernetes cluster of plain processes, built from its Go modules, and the suites
// that need one.
import { parseCommand } from './command-line.ts';
import { bringUp, enterCluster, clusterAt } from './bring-up.ts';
import { clusterNames, clusterPathsOf } from './cluster-paths.ts';
import { buildPrograms } from './programs/build-programs.ts';
import { programCache } from './programs/programs.ts';
import { runProgram, runSuites } from './run-suites.ts';

try {
  const command = parseCommand(process.argv.slice(2));
  switch (command.action) {
    case 'build':
      for (const path of await buildPrograms(programCache(), command.programs, console.error))
        console.log(path);
      break;
    case 'up':
      await bringUp(clusterPathsOf(command.name));
      break;
    case 'down':
      for (const name of clusterNames(command.name)) await clusterAt(clusterPathsOf(name)).down();
      break;
    case 'enter':
      process.exitCode = await enterCluster(clusterAt(clusterPathsOf(command.name)), command.command);
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
