import { withSubCommands } from '../with-sub-commands.ts';
import { buildFlags, buildUsage } from '../stemcell/build-arguments.ts';
import { buildStemcell } from '../stemcell/build.ts';
import { load, loadFlags, loadUsage } from '../stemcell/load.ts';
import { prePull, prePullFlags, prePullUsage } from '../stemcell/pre-pull.ts';
import { pushFlags, pushStemcell, pushVerbUsage } from '../stemcell/push.ts';

/**
 * Commands that build stemcells, which VMs run, and bring them to a place where nodes find them
 * (docs/stemcells.md).
 */
export const stemcell = withSubCommands({
  name: 'stemcell',
  documentation: 'docs/stemcells.md',
  summary: 'Make the image that VMs run, and bring it to nodes',
  subCommands: [
    {
      name: 'build',
      usage: buildUsage,
      operands: ['other'],
      summary: 'Build an image, and the light stemcell that names it',
      flags: buildFlags,
      example: '--from-debian --profile privileged --output stemcell',
      run: buildStemcell,
    },
    {
      name: 'push',
      usage: pushVerbUsage,
      operands: ['directory', 'other'],
      summary: 'Push the image of a built stemcell to a registry',
      flags: pushFlags,
      example: 'stemcell registry.example.com/bosh/stemcell:1.0',
      run: pushStemcell,
    },
    {
      name: 'load',
      usage: loadUsage,
      operands: ['directory', 'other'],
      summary: 'Load the image of a built stemcell into a node, so that it need not be pulled',
      flags: loadFlags,
      example: 'stemcell --to kind',
      run: load,
    },
    {
      name: 'pre-pull',
      usage: prePullUsage,
      operands: ['other'],
      summary: 'Print a manifest for kubectl that makes every node pull a stemcell',
      flags: prePullFlags,
      example: 'registry.example.com/bosh/stemcell:1.0 --namespace bosh',
      run: prePull,
    },
  ],
});
