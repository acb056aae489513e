// Keeps the page as live as the record: any change fetches the page again and puts its main part in place.
const feed = document.getElementById('feed');
const main = document.getElementById('main');
let heard = Date.now();
let fetching = false;
let again = false;

async function refresh() {
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  do {
    again = false;
    const response = await fetch(location.href);
    if (response.redirected) return location.assign('/sign-in');
    if (response.ok) {
      const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
      main.replaceChildren(...fresh.getElementById('main').childNodes);
    }
  } while (again);
  fetching = false;
}

const source = new EventSource(`/events?after=${document.body.dataset.seq}`);
source.onopen = () => {
  heard = Date.now();
};
const look = () =>
  refresh().catch(() => {
    fetching = false;
  });
const changed = () => {
  heard = Date.now();
  look();
};
// A refused feed is not tried again by the browser: the session is over, and the page's answer says so.
source.onerror = () => {
  if (source.readyState === EventSource.CLOSED) look();
};
source.onmessage = changed;
source.addEventListener('change', changed);
source.addEventListener('alive', () => {
  heard = Date.now();
});

setInterval(() => {
  const stale = Date.now() - heard > 15_000;
  feed.textContent = stale ? `stale for ${Math.round((Date.now() - heard) / 1000)} s` : 'live';
  feed.className = stale ? 'stale' : '';
}, 1000);
