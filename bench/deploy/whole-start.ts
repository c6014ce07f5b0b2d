import type { StageTime } from './stage-clock.ts';

/** Moments of an `npm start` in milliseconds of one clock; `building` and `built` only if it built. */
export interface Moments {
  readonly began: number;
  readonly building?: number | undefined;
  readonly built?: number | undefined;
  /** The deployer's first line. */
  readonly deploying: number;
  readonly ended: number;
}

/**
 * Returns the stages of a start together with the times before, between and after them, so that the sum is
 * the duration of the start.
 */
export function wholeStart(moments: Moments, stages: readonly StageTime[]): readonly StageTime[] {
  const { began, building, built, deploying, ended } = moments;
  const before =
    building === undefined || built === undefined
      ? [{ stage: "until the deployer's first line", milliseconds: deploying - began }]
      : [
          { stage: 'npm, until it builds', milliseconds: building - began },
          { stage: 'build, the cluster comes up beside it', milliseconds: built - building },
          { stage: "from the build to the deployer's first line", milliseconds: deploying - built },
        ];
  const inStages = stages.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  const rest = { stage: 'between the stages and after them', milliseconds: ended - deploying - inStages };
  return [...before, ...stages, rest];
}
