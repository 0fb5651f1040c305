// What a screen and its thread say to each other.
import type { TerminalSize } from '../../contract/terminal.ts'

export type ToScreen =
  | { readonly kind: 'write'; readonly bytes: Uint8Array }
  | { readonly kind: 'resize'; readonly size: TerminalSize }
  | { readonly kind: 'draw' }

/** One when it can be asked, then one for each question, in their order. A resize is no question. */
export type FromScreen =
  | { readonly kind: 'ready' }
  | { readonly kind: 'written' }
  | { readonly kind: 'drawn'; readonly text: string }

export interface ScreenData {
  readonly size: TerminalSize
  /** Lines above the screen that are kept. */
  readonly scrollback: number
}
