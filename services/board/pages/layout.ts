/** What every page has. */
import { type Html, html } from '../html.ts';

/** @param seq the newest event the page shows; the live feed goes on from there */
export const layout = (title: string, main: Html, seq?: number): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · TaskBridge</title>
<link rel="stylesheet" href="/static/board.css">
${seq === undefined ? undefined : html`<script src="/static/board.js" defer></script>`}
</head>
<body${seq === undefined ? undefined : html` data-seq="${seq}"`}>
<header><a href="/">TaskBridge</a>${seq === undefined ? undefined : html`<span id="feed" role="status">live</span><form method="post" action="/sign-out"><button>Sign out</button></form>`}</header>
<main id="main">${main}</main>
</body>
</html>
`;

export const signInPage = (problem?: string): Html =>
  layout(
    'Sign in',
    html`<h1>Sign in</h1>
${problem ? html`<p class="problem" role="alert">${problem}</p>` : undefined}
<form method="post" action="/sign-in" class="sign-in">
<label>Operator token <input type="password" name="token" required autocomplete="current-password"></label>
<button>Sign in</button>
</form>
<p class="quiet"><code>npm start</code> prints it; another one comes from <code>taskbridge token create NAME --operator</code>.</p>`,
  );
