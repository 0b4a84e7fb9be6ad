import { setImmediate as breathe } from 'node:timers/promises';
import { AjvCompiler } from '@fastify/ajv-compiler';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';

type Compile = (route: never) => Compiled;
type Factory = (...options: unknown[]) => Compile;
type Compiled = ((value: unknown) => unknown) & { errors?: unknown };

/**
 * Validators and serializers that are compiled when they are first needed, for a start must not wait for all of them:
 * there are several hundred, and most of them belong to errors.
 */
export function createLazyCompilers() {
  const waiting = new Set<() => void>();

  const lazily =
    (compile: Compile) =>
    (route: never): Compiled => {
      let compiled: Compiled | undefined;
      const settle = () => {
        waiting.delete(settle);
        compiled ??= compile(route);
        return compiled;
      };
      waiting.add(settle);
      const call: Compiled = (value) => {
        const run = compiled ?? settle();
        const result = run(value);
        // Where Fastify looks for what a validator has to say.
        call.errors = run.errors;
        return result;
      };
      return call;
    };

  /** The factory's types are kept: what it makes is called in the same way, only later. */
  const lazy = <T>(factory: T): T => ((...options: unknown[]) => lazily((factory as Factory)(...options))) as T;

  return {
    /** For Fastify's `schemaController`. */
    factories: { buildValidator: lazy(AjvCompiler()), buildSerializer: lazy(SerializerSelector()) },

    /** Compiles what is left, one after the other, so that requests need not wait for it. @throws what is wrong with a schema */
    async compileAll(): Promise<void> {
      for (const settle of waiting) {
        settle();
        await breathe();
      }
    },
  };
}
